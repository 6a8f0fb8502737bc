#include "lib/structure/covalent_radii.h"

#include <algorithm>
#include <cstdint>

#include "gtest/gtest.h"

namespace rutile {
namespace {

TEST(CovalentRadiiTest, KnownElements) {
  EXPECT_EQ(CovalentRadius(1), 0.31);
  EXPECT_EQ(CovalentRadius(8), 0.66);
  EXPECT_EQ(CovalentRadius(22), 1.60);
  EXPECT_EQ(CovalentRadius(26), 1.32);
  EXPECT_EQ(CovalentRadius(55), 2.44);
  EXPECT_EQ(CovalentRadius(79), 1.36);
  EXPECT_EQ(CovalentRadius(92), 1.96);
  EXPECT_EQ(CovalentRadius(96), 1.69);
  EXPECT_EQ(CovalentRadius(118), 1.69);
}

TEST(CovalentRadiiTest, NoneIsLargerThanTheLargest) {
  double largest = 0;
  for (int z = 1; z <= 118; ++z) largest = std::max(largest, CovalentRadius(static_cast<uint8_t>(z)));
  EXPECT_EQ(largest, kLargestCovalentRadius);
}

TEST(CovalentRadiiTest, NobleGases) {
  for (const uint8_t z : {2, 10, 18, 36, 54, 86}) EXPECT_TRUE(IsNobleGas(z)) << static_cast<int>(z);
  for (const uint8_t z : {1, 8, 22, 55}) EXPECT_FALSE(IsNobleGas(z)) << static_cast<int>(z);
}

}  // namespace
}  // namespace rutile
