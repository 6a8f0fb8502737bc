#include "lib/base/decimal.h"

#include <cstdlib>
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

TEST(ShortestDecimalTest, AsAPersonWritesIt) {
  EXPECT_EQ(ShortestDecimal(0.98), "0.98");
  EXPECT_EQ(ShortestDecimal(-1), "-1");
  EXPECT_EQ(ShortestDecimal(0), "0");
  EXPECT_EQ(ShortestDecimal(10000), "10000");
  EXPECT_EQ(ShortestDecimal(1e-8), "1e-8");
  EXPECT_EQ(ShortestDecimal(-2.5e-10), "-2.5e-10");
  EXPECT_EQ(ShortestDecimal(1e20), "1e20");
  EXPECT_EQ(ShortestDecimal(1e300), "1e300");
  EXPECT_EQ(ShortestDecimal(1.0 / 3), "0.3333333333333333");
}

TEST(ShortestDecimalTest, NotFinite) {
  EXPECT_EQ(ShortestDecimal(-std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(ShortestDecimal(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(ShortestDecimal(-std::numeric_limits<double>::infinity()), "-inf");
}

TEST(ShortestDecimalTest, ReadsBackExactly) {
  for (const double value : {0.1, 1e-4, 1.0 / 3, 6.02214076e23, -1e-308, 5e-324, 1.7976931348623157e308, 123456789.0}) {
    EXPECT_EQ(std::strtod(ShortestDecimal(value).c_str(), nullptr), value);
  }
}

}  // namespace
}  // namespace rutile
