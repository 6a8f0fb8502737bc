#include "lib/task/torch/torch_facts.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/task/eager_options.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

std::string Refusal(const EagerOptions& options, const TorchFacts& facts) {
  return std::string(CheckAgainstFacts(options, facts).message());
}

TEST(TorchFactsTest, AreConsistent) {
  const TorchFacts facts = FindTorchFacts();
  EXPECT_THAT(facts.version, HasSubstr("."));
  EXPECT_GE(facts.num_cuda_devices, 0);
  EXPECT_TRUE(facts.has_cuda || facts.num_cuda_devices == 0);
  EXPECT_TRUE(facts.num_cuda_devices > 0 || !CudaHasBf16("cuda:0"));
}

TEST(TorchFactsTest, EachProcessHasADevice) {
  TorchFacts facts;
  EXPECT_EQ(DeviceOfProcess("cuda", 1, facts), "cuda");
  facts.num_cuda_devices = 2;
  EXPECT_EQ(DeviceOfProcess("cuda", 1, facts), "cuda:1");
  EXPECT_EQ(DeviceOfProcess("cuda", 2, facts), "cuda:0");
  EXPECT_EQ(DeviceOfProcess("cuda:0", 1, facts), "cuda:0");
  EXPECT_EQ(DeviceOfProcess("cpu", 1, facts), "cpu");
  EXPECT_EQ(CudaBusId("cuda:0").empty(), FindTorchFacts().num_cuda_devices == 0);
}

TEST(TorchFactsTest, SayWhyADeviceIsRefused) {
  TorchFacts facts;
  facts.version = "9.9";
  EagerOptions options;
  options.device = "cuda:1";
  EXPECT_THAT(Refusal(options, facts), HasSubstr("this LibTorch 9.9 has no CUDA"));
  facts.has_cuda = true;
  EXPECT_THAT(Refusal(options, facts), HasSubstr("finds no device"));
  facts.num_cuda_devices = 1;
  EXPECT_THAT(Refusal(options, facts), HasSubstr("device cuda:1: the last of 1 is cuda:0"));
  facts.num_cuda_devices = 2;
  EXPECT_EQ(Refusal(options, facts), "");
  options.device = "cuda";
  EXPECT_EQ(Refusal(options, facts), "");
}

TEST(TorchFactsTest, Bf16OnACpuNeedsItsInstructions) {
  TorchFacts facts;
  EagerOptions options;
  options.precision = Precision::kBf16Mixed;
  EXPECT_THAT(Refusal(options, facts), HasSubstr("AMX-BF16 or AVX512-BF16"));
  facts.cpu_bf16 = "AVX512-BF16";
  EXPECT_EQ(Refusal(options, facts), "");
}

TEST(TorchFactsTest, MatmulPrecisionIsRefusedWhereItDoesNothing) {
  TorchFacts facts;
  EagerOptions options;
  options.matmul = FactorRounding::kTwoParts;
  EXPECT_THAT(Refusal(options, facts), HasSubstr("does nothing on the CPU"));
  facts.cpu_matmul_precision = true;
  EXPECT_EQ(Refusal(options, facts), "");
}

}  // namespace
}  // namespace rutile
