#include "lib/task/eager_options.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/matrix/factor_rounding.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

TEST(EagerOptionsTest, DevicesAreCpuCudaOrANumberedOne) {
  EagerOptions options;
  for (const char* device : {"cpu", "cuda", "cuda:0", "cuda:15"}) {
    options.device = device;
    EXPECT_EQ(CheckEagerOptions(options), absl::OkStatus()) << device;
  }
  for (const char* device : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:0x", "cpu:0", "CUDA"}) {
    options.device = device;
    EXPECT_THAT(std::string(CheckEagerOptions(options).message()), HasSubstr("expected cpu, cuda or cuda:N")) << device;
  }
}

TEST(EagerOptionsTest, Fp16IsForCuda) {
  EagerOptions options;
  options.precision = Precision::kFp16Mixed;
  EXPECT_THAT(std::string(CheckEagerOptions(options).message()), HasSubstr("needs a CUDA device"));
  options.device = "cuda";
  EXPECT_EQ(CheckEagerOptions(options), absl::OkStatus());
}

TEST(EagerOptionsTest, MixedPrecisionMultipliesNoFp32) {
  EagerOptions options;
  options.matmul = FactorRounding::kBf16;
  EXPECT_EQ(CheckEagerOptions(options), absl::OkStatus());
  options.precision = Precision::kBf16Mixed;
  EXPECT_THAT(std::string(CheckEagerOptions(options).message()), HasSubstr("medium and precision bf16-mixed exclude"));
}

// The type of parameters is no matter of LibTorch's options.
TEST(EagerOptionsTest, PrecisionIsMixedOrThatOfTheParameters) {
  EagerOptions options;
  for (const Precision precision : {Precision::kFp32, Precision::kFp64, Precision::kBf16}) {
    options.precision = precision;
    EXPECT_THAT(std::string(CheckEagerOptions(options).message()),
                HasSubstr("expected auto, bf16-mixed or fp16-mixed"));
  }
}

TEST(EagerOptionsTest, PlainIsEagerOnTheCpu) {
  EXPECT_TRUE(EagerOptions().plain());
  EagerOptions script;
  script.script = true;
  EXPECT_FALSE(script.plain());
}

}  // namespace
}  // namespace rutile
