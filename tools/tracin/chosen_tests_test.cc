#include "tools/tracin/chosen_tests.h"

#include "gtest/gtest.h"

namespace rutile {
namespace {

TEST(ChosenTestsTest, ProponentsAreThoseThatHelp) {
  using R = InfluenceRanking;
  for (const int sign : {1, 0}) {
    for (const R ranking : {R::kHighest, R::kLowest, R::kAbsolute, R::kBoth}) {
      EXPECT_EQ(RankingOf(ranking, sign), ranking) << sign;
    }
  }
  EXPECT_EQ(RankingOf(R::kHighest, -1), R::kLowest) << "steps on a proponent raised the score, so that its own is low";
  EXPECT_EQ(RankingOf(R::kLowest, -1), R::kHighest);
  EXPECT_EQ(RankingOf(R::kAbsolute, -1), R::kAbsolute);
  EXPECT_EQ(RankingOf(R::kBoth, -1), R::kBoth);
}

}  // namespace
}  // namespace rutile
