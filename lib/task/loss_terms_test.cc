#include "lib/task/loss_terms.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;

TEST(TermSumsTest, Adds) {
  TermSums sums(2), other(2);
  other.sum = {1, 2};
  other.count = {3, 4};
  sums.Add(other);
  sums.Add(other);
  EXPECT_THAT(sums.sum, ElementsAre(2, 4));
  EXPECT_THAT(sums.count, ElementsAre(6, 8));
}

TEST(TermSumsDeathTest, RejectsAnotherNumberOfTerms) {
  TermSums sums(2);
  EXPECT_DEATH(sums.Add(TermSums(1)), "2 vs. 1");
}

}  // namespace
}  // namespace rutile
