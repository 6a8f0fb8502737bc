#include "lib/base/decimal.h"

#include <limits>

#include "gtest/gtest.h"

namespace rutile {
namespace {

TEST(DecimalTest, FixedUntilItIsLong) {
  EXPECT_EQ(Decimal(-5.01234, 4), "-5.0123");
  EXPECT_EQ(Decimal(0, 2), "0.00");
  EXPECT_EQ(Decimal(-0.5, 7), "-0.5000000");
  EXPECT_EQ(Decimal(999999999.25, 1), "999999999.2");
  EXPECT_EQ(Decimal(1e9, 4), "1e+09");
  EXPECT_EQ(Decimal(-1.2345678e299, 4), "-1.23457e+299");
}

TEST(DecimalTest, NotFinite) {
  EXPECT_EQ(Decimal(std::numeric_limits<double>::quiet_NaN(), 4), "nan");
  EXPECT_EQ(Decimal(-std::numeric_limits<double>::quiet_NaN(), 4), "nan");
  EXPECT_EQ(Decimal(std::numeric_limits<double>::infinity(), 4), "inf");
  EXPECT_EQ(Decimal(-std::numeric_limits<double>::infinity(), 4), "-inf");
}

TEST(ExactDecimalTest, ReadsBackAsTheSameNumber) {
  EXPECT_EQ(ExactDecimal(0.1), "0.1");
  EXPECT_EQ(ExactDecimal(0.1 + 0.2), "0.30000000000000004");
  EXPECT_EQ(ExactDecimal(1e-5), "1e-05");
  EXPECT_EQ(ExactDecimal(-3), "-3");
  EXPECT_EQ(ExactDecimal(std::numeric_limits<double>::max()), "1.7976931348623157e+308");
  EXPECT_EQ(ExactDecimal(-std::numeric_limits<double>::denorm_min()), "-5e-324");
  EXPECT_EQ(ExactDecimal(std::numeric_limits<double>::infinity()), "inf");
}

}  // namespace
}  // namespace rutile
