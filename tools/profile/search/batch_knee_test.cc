#include "tools/profile/search/batch_knee.h"

#include <vector>

#include "gtest/gtest.h"

namespace rutile {
namespace {

TEST(BatchKneeTest, TheSmallestThatIsAlmostAsFast) {
  const std::vector<BatchPoint> points = {{8, 100, 0}, {16, 190, 0}, {32, 290, 0}, {64, 300, 0}, {128, 280, 0}};
  EXPECT_EQ(FindKnee(points, 0.9), 2);
  EXPECT_EQ(FindKnee(points, 1), 3);
  EXPECT_EQ(FindKnee(points, 0), 0);
}

TEST(BatchKneeTest, WhatDidNotRunIsNone) {
  EXPECT_EQ(FindKnee({}, 0.9), -1);
  EXPECT_EQ(FindKnee({{8, 0, 0}}, 0.9), -1);
}

TEST(BatchKneeTest, MemoryGrowsInALine) {
  EXPECT_EQ(PredictBytes({{8, 1, 1000}, {16, 1, 1800}}, 32), 3400);
  EXPECT_EQ(PredictBytes({{4, 1, 5}, {8, 1, 1000}, {16, 0, 0}, {16, 1, 1800}}, 32), 3400);
  EXPECT_EQ(PredictBytes({{8, 1, 1000}, {16, 1, 900}}, 32), 900);  // never below what was seen
  EXPECT_EQ(PredictBytes({{8, 1, 1000}}, 16), 0);
  EXPECT_EQ(PredictBytes({}, 16), 0);
}

}  // namespace
}  // namespace rutile
