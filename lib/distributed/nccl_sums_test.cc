#include "lib/distributed/nccl_sums.h"

#include <chrono>

#include "ATen/ATen.h"
#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "torch/csrc/distributed/c10d/HashStore.hpp"

namespace rutile {
namespace {

// Several processes need several GPUs; this test needs one process, and also checks the error if there is no GPU.
TEST(NcclSumsTest, OneProcess) {
  const auto join = [] {
    return JoinNccl(c10::make_intrusive<c10d::HashStore>(), 0, 1, "cuda:0", std::chrono::seconds(20));
  };
  if (!HasNccl()) {
    EXPECT_DEATH(join(), "this build has no NCCL");
  } else if (at::getNumGPUs() == 0) {
    EXPECT_ANY_THROW(join());
  } else {
    at::Tensor values = at::arange(5, at::device(at::Device("cuda:0")).dtype(at::kFloat));
    const absl::Status status = join()->Sum(&values);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_TRUE(at::equal(values.cpu(), at::arange(5, at::kFloat)));
  }
}

}  // namespace
}  // namespace rutile
