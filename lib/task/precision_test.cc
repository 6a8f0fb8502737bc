#include "lib/task/precision.h"

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

constexpr Precision kAll[] = {Precision::kAuto, Precision::kFp32,      Precision::kFp64,
                              Precision::kBf16, Precision::kBf16Mixed, Precision::kFp16Mixed};

TEST(PrecisionTest, NamesAreParsed) {
  for (const Precision precision : kAll) {
    EXPECT_EQ(kPrecisionNames.Parse(kPrecisionNames.Name(precision)).value(), precision);
    EXPECT_EQ(ParsePrecision(kPrecisionNames.Name(precision), kAll).value(), precision);
  }
  EXPECT_EQ(kPrecisionNames.Name(Precision::kFp16Mixed), "fp16-mixed");
  for (const FactorRounding precision : {FactorRounding::kNone, FactorRounding::kTwoParts, FactorRounding::kBf16}) {
    EXPECT_EQ(kMatmulPrecisionNames.Parse(kMatmulPrecisionNames.Name(precision)).value(), precision);
  }
  EXPECT_THAT(kMatmulPrecisionNames.Parse("low").status(),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"\"low\"", "highest, high, medium"}));
}

// A name of the table that the caller does not offer is as wrong as any other.
TEST(PrecisionTest, OnlyWhatIsOfferedIsParsed) {
  const absl::Status status =
      ParsePrecision("bf16", {Precision::kFp32, Precision::kFp64, Precision::kBf16Mixed}).status();
  EXPECT_THAT(status, ErrorNames(absl::StatusCode::kInvalidArgument, {"expected fp32, fp64 or bf16-mixed"}));
  EXPECT_THAT(ParsePrecision("", {Precision::kFp32, Precision::kFp64}).status(),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"expected fp32 or fp64"}));
}

TEST(PrecisionTest, ParametersAreFp64OnlyWhereAllIs) {
  for (const Precision precision : kAll) {
    EXPECT_EQ(DTypeOf(precision), precision == Precision::kFp64 ? DType::kF64 : DType::kF32);
    EXPECT_EQ(IsMixed(precision), precision == Precision::kBf16Mixed || precision == Precision::kFp16Mixed);
  }
  EXPECT_EQ(PrecisionOf(DType::kF64), Precision::kFp64);
  EXPECT_EQ(PrecisionOf(DType::kF32), Precision::kFp32);
}

TEST(PrecisionTest, SaysHowProductsRoundTheirFactors) {
  for (const Precision precision : kAll) {
    const bool is_bf16 = precision == Precision::kBf16 || precision == Precision::kBf16Mixed;
    EXPECT_EQ(RoundingOf(precision), is_bf16 ? FactorRounding::kBf16 : FactorRounding::kNone);
  }
  for (const Precision precision : {Precision::kFp32, Precision::kFp64, Precision::kBf16Mixed}) {
    EXPECT_EQ(TrainingPrecision(DTypeOf(precision), RoundingOf(precision)), precision);
  }
  EXPECT_EQ(TrainingPrecision(DType::kF32, FactorRounding::kTwoParts), Precision::kFp32);
  EXPECT_EQ(kMatmulPrecisionNames.Name(FactorRounding::kTwoParts), "high");
}

}  // namespace
}  // namespace rutile
