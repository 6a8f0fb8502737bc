#include "lib/base/round_up.h"

#include <cstdint>
#include <limits>

#include "gtest/gtest.h"

namespace rutile {
namespace {

TEST(RoundUpTest, BelowAtAndAboveWholeUnits) {
  EXPECT_EQ(CeilDivide(0, 16), 0);
  EXPECT_EQ(CeilDivide(1, 16), 1);
  EXPECT_EQ(CeilDivide(16, 16), 1);
  EXPECT_EQ(CeilDivide(17, 16), 2);
  EXPECT_EQ(RoundUp(0, 16), 0);
  EXPECT_EQ(RoundUp(1, 16), 16);
  EXPECT_EQ(RoundUp(16, 16), 16);
  EXPECT_EQ(RoundUp(17, 16), 32);
  EXPECT_EQ(RoundUp(10, 3), 12);  // not only powers of two
}

TEST(RoundUpTest, TheLargestNumbersDoNotOverflow) {
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(CeilDivide(kLargest, 2), kLargest / 2 + 1);
  EXPECT_EQ(RoundUp(kLargest, kLargest), kLargest);
}

}  // namespace
}  // namespace rutile
