#include "lib/plot/error_summary.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

TEST(SummarizeErrorsTest, MatchesTheDefinitions) {
  const ErrorSummary summary = SummarizeErrors({3.0, -4.0, 0.0, 1.0});
  EXPECT_DOUBLE_EQ(summary.mean, 0);
  EXPECT_DOUBLE_EQ(summary.rmse, std::sqrt(26.0 / 4));
  EXPECT_DOUBLE_EQ(summary.mae, 2);
  EXPECT_DOUBLE_EQ(summary.largest, 4);
}

TEST(SummarizeErrorsTest, SurvivesExtremes) {
  EXPECT_EQ(SummarizeErrors({}).rmse, 0);
  EXPECT_EQ(SummarizeErrors({0.0, 0.0}).rmse, 0);
  EXPECT_DOUBLE_EQ(SummarizeErrors({-1e200}).rmse, 1e200);
  EXPECT_DOUBLE_EQ(SummarizeErrors({1e-200}).rmse, 1e-200);
}

TEST(ChoosePointsTest, KeepsAllWhenFew) {
  EXPECT_THAT(ChoosePoints({1.0, 2.0, 3.0}, 3), ElementsAre(0, 1, 2));
  EXPECT_TRUE(ChoosePoints({}, 3).empty());
}

TEST(ChoosePointsTest, KeepsTheLargestErrors) {
  std::vector<double> error(10000, 0.001);
  error[17] = -5;
  error[9999] = 4;
  const std::vector<int64_t> chosen = ChoosePoints(error, 100);
  EXPECT_EQ(chosen.size(), 100u);
  EXPECT_TRUE(std::is_sorted(chosen.begin(), chosen.end()));
  EXPECT_EQ(std::adjacent_find(chosen.begin(), chosen.end()), chosen.end());
  EXPECT_THAT(chosen, Contains(17));
  EXPECT_THAT(chosen, Contains(9999));
  EXPECT_EQ(ChoosePoints(error, 100), chosen);
  EXPECT_EQ(ChoosePoints(error, 1).size(), 1u);
}

TEST(GroupByNameTest, OrdersBySizeThenName) {
  const std::vector<std::string> group = {"b", "a", "c", "c", "b", "c"};
  const Grouping grouping = GroupByName(group, 6, 8);
  EXPECT_THAT(grouping.name, ElementsAre("c", "b", "a"));
  EXPECT_THAT(grouping.size, ElementsAre(3, 2, 1));
  EXPECT_THAT(grouping.of, ElementsAre(1, 2, 0, 0, 1, 0));
}

TEST(GroupByNameTest, JoinsTheSmallest) {
  std::vector<std::string> group = {"big", "big", "big"};
  for (int i = 0; i < 20; ++i) group.push_back(absl::StrCat("g", 10 + i));
  const Grouping grouping = GroupByName(group, group.size(), 4);
  EXPECT_THAT(grouping.name, ElementsAre("big", "g10", "g11", "18 other groups"));
  EXPECT_THAT(grouping.size, ElementsAre(3, 1, 1, 18));
  EXPECT_EQ(grouping.of.back(), 3);
}

TEST(GroupByNameTest, MakesOneOfNone) {
  const Grouping grouping = GroupByName({}, 3, 8);
  EXPECT_THAT(grouping.name, ElementsAre(""));
  EXPECT_THAT(grouping.of, ElementsAre(0, 0, 0));
}

}  // namespace
}  // namespace rutile
