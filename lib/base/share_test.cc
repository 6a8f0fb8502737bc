#include "lib/base/share.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace rutile {
namespace {

// Integer arithmetic gives the exact shares of the decimals.
TEST(ShareTest, IsThatOfTheDecimal) {
  EXPECT_EQ(ShareOf(0.29, 100), 29);
  for (const int64_t parts : {10, 100, 1000}) {
    for (int64_t part = 0; part <= parts; ++part) {
      const double fraction = static_cast<double>(part) / static_cast<double>(parts);  // what "0.29" is read as
      for (int64_t n = 0; n <= 400; ++n) EXPECT_EQ(ShareOf(fraction, n), part * n / parts) << fraction << " of " << n;
    }
  }
}

TEST(ShareTest, RoundsDown) {
  EXPECT_EQ(ShareOf(0.999999999, 1), 0);
  EXPECT_EQ(ShareOf(0.2999999999, 10), 2);
  EXPECT_EQ(ShareOf(1e-300, 1000), 0);
}

TEST(ShareTest, LargeNumbers) {
  constexpr int64_t kMost = int64_t{1} << 49;
  EXPECT_EQ(ShareOf(1, kMost), kMost);
  EXPECT_EQ(ShareOf(1, kMost - 1), kMost - 1);
  EXPECT_EQ(ShareOf(0.29, 100000000000), 29000000000);
  EXPECT_EQ(ShareOf(0.29, 100000000099), 29000000028);
}

}  // namespace
}  // namespace rutile
