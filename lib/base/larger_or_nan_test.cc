#include "lib/base/larger_or_nan.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace rutile {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(LargerOrNaNTest, IsTheMaximumOfNumbers) {
  EXPECT_EQ(LargerOrNaN(1, 2), 2);
  EXPECT_EQ(LargerOrNaN(2, 1), 2);
  EXPECT_EQ(LargerOrNaN(0, -1), 0);
  EXPECT_EQ(LargerOrNaN(1, kInfinity), kInfinity);
}

TEST(LargerOrNaNTest, KeepsNaNFromBothSides) {
  EXPECT_TRUE(std::isnan(LargerOrNaN(kNaN, 1)));
  EXPECT_TRUE(std::isnan(LargerOrNaN(1, kNaN)));
  EXPECT_TRUE(std::isnan(LargerOrNaN(kNaN, kInfinity)));
}

}  // namespace
}  // namespace rutile
