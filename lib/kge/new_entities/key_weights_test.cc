#include "lib/kge/new_entities/key_weights.h"

#include <vector>

#include "gtest/gtest.h"

namespace rutile {
namespace {

const std::vector<Triple> kTriples = {{0, 0, 1}, {0, 0, 2}, {3, 1, 2}};

TEST(KeyWeightsTest, SumsAreInUnitsOfTheMean) {
  const KeyWeights weights(kTriples, {2, 4, 0}, 2, true);  // mean 2
  EXPECT_EQ(weights.Sum(0, 0, 2), 3);
  EXPECT_EQ(weights.Sum(3, 1, 1), 0);
  EXPECT_EQ(weights.Sum(1, 2, 1), 1);
  EXPECT_EQ(weights.Sum(2, 2, 1), 2);
  EXPECT_EQ(weights.Sum(2, 3, 1), 0);
  EXPECT_EQ(weights.Sum(7, 0, 0), 0);
  EXPECT_EQ(KeyWeights(kTriples, {2, 4, 0}, 2, false).Sum(1, 2, 0), 0);
}

TEST(KeyWeightsTest, EqualWeightsAndNoneAreNumbers) {
  for (const KeyWeights& weights :
       {KeyWeights(), KeyWeights(kTriples, {}, 2, true), KeyWeights(kTriples, {0.1, 0.1, 0.1}, 2, true)}) {
    EXPECT_EQ(weights.Sum(0, 0, 2), 2);
    EXPECT_EQ(weights.Sum(3, 1, 1), 1);
  }
}

}  // namespace
}  // namespace rutile
