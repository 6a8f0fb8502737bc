#include "lib/distributed/nccl_sums.h"

#include "lib/base/logging.h"

#ifdef USE_C10D_NCCL
#include <cstdint>
#include <vector>

#include "ATen/ATen.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "torch/csrc/cuda/nccl.h"
#include "torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp"
#endif

namespace rutile {

#ifdef USE_C10D_NCCL
namespace {

class NcclSums : public DeviceSums {
 public:
  NcclSums(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size, const std::string& device,
           std::chrono::milliseconds timeout) {
    auto options = c10d::ProcessGroupNCCL::Options::create();
    options->timeout = timeout;
    group_ = c10::make_intrusive<c10d::ProcessGroupNCCL>(store, rank, size, options);
    // The first sum makes the connections, so errors show here.
    at::Tensor one = at::ones({1}, at::device(at::Device(device)));
    Add(one);
    CHECK_EQ(one.item<float>(), size);
  }

  absl::Status Sum(at::Tensor* values) override {
    try {
      Add(*values);
    } catch (const std::exception& error) {
      const std::string whole = error.what();
      return absl::UnavailableError(absl::StrCat("adding up on GPUs: ", whole.substr(0, whole.find('\n')),
                                                 "; see what the other processes say. The run can be resumed from its "
                                                 "last checkpoint"));
    }
    return absl::OkStatus();
  }

 private:
  // Enqueues the sum: the GPU waits for it, not this thread.
  void Add(at::Tensor& values) {
    std::vector<at::Tensor> tensors = {values};
    group_->allreduce(tensors)->wait();
  }

  c10::intrusive_ptr<c10d::ProcessGroupNCCL> group_;
};

}  // namespace

// c10d's objects contain NCCL's structs, whose sizes change between versions: headers of another version would make
// them overwrite memory.
bool HasNccl() {
  static const bool same = [] {
    const uint64_t version = torch::cuda::nccl::version();
    const std::string inside = absl::StrCat(version >> 32, ".", version >> 16 & 0xFFFF, ".", version & 0xFFFF);
    const std::string headers = absl::StrCat(NCCL_MAJOR, ".", NCCL_MINOR, ".", NCCL_PATCH);
    if (inside == headers) return true;
    LOG(WARNING) << "gradients of several GPUs are summed through the host: this build found the headers of NCCL "
                 << headers << ", and LibTorch has NCCL " << inside << "; build it with those (docs/libtorch.md)";
    return false;
  }();
  return same;
}

std::unique_ptr<DeviceSums> JoinNccl(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                     const std::string& device, std::chrono::milliseconds timeout) {
  CHECK(HasNccl()) << "this build has no NCCL";
  return std::make_unique<NcclSums>(store, rank, size, device, timeout);
}

#else

bool HasNccl() { return false; }

std::unique_ptr<DeviceSums> JoinNccl(const c10::intrusive_ptr<c10d::Store>&, int, int, const std::string&,
                                     std::chrono::milliseconds) {
  LOG(FATAL) << "this build has no NCCL";
  return nullptr;
}

#endif

}  // namespace rutile
