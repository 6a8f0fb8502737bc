#include "lib/task/eager_options.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

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
  options.mixed = MixedPrecision::kFp16;
  EXPECT_THAT(std::string(CheckEagerOptions(options).message()), HasSubstr("needs a CUDA device"));
  options.device = "cuda";
  EXPECT_EQ(CheckEagerOptions(options), absl::OkStatus());
}

TEST(EagerOptionsTest, MixedPrecisionMultipliesNoFp32) {
  EagerOptions options;
  options.matmul = MatmulPrecision::kMedium;
  EXPECT_EQ(CheckEagerOptions(options), absl::OkStatus());
  options.mixed = MixedPrecision::kBf16;
  EXPECT_THAT(std::string(CheckEagerOptions(options).message()), HasSubstr("medium and precision bf16-mixed exclude"));
}

TEST(EagerOptionsTest, NamesAreParsed) {
  for (const MatmulPrecision precision :
       {MatmulPrecision::kHighest, MatmulPrecision::kHigh, MatmulPrecision::kMedium}) {
    EXPECT_EQ(ParseMatmulPrecision(MatmulPrecisionName(precision)).value(), precision);
  }
  EXPECT_THAT(std::string(ParseMatmulPrecision("low").status().message()), HasSubstr("highest, high or medium"));
}

TEST(EagerOptionsTest, PlainIsEagerOnTheCpu) {
  EXPECT_TRUE(EagerOptions().plain());
  EagerOptions script;
  script.script = true;
  EXPECT_FALSE(script.plain());
}

}  // namespace
}  // namespace rutile
