#include "lib/plot/rank_plot.h"

#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/plot/well_formed.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(RelationPlotTest, ShowsRelationsOverTheirTriples) {
  const auto svg = RelationPlot({{12, 4, 0.2}, {3000, 600, 0.9}, {0, 1, 0.01}});
  ASSERT_TRUE(svg.ok()) << svg.status();
  EXPECT_TRUE(IsWellFormedXml("ranks_by_relation.svg", *svg));
  for (const char* text : {"Training triples of the relation", ">MRR<", ">0<", ">1000<"}) {
    EXPECT_THAT(*svg, HasSubstr(text));
  }
}

TEST(RelationPlotTest, TakesSingleValuesAndRefusesNone) {
  for (const double triples : {0.0, 1.0, 100.0, 1e9}) {
    const auto svg = RelationPlot({{triples, 1, 1}});
    ASSERT_TRUE(svg.ok()) << triples << ": " << svg.status();
    EXPECT_THAT(*svg, Not(HasSubstr("nan"))) << triples;
  }
  EXPECT_EQ(RelationPlot({}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(RelationPlot({{1, 1, kNan}, {1, 1, kInfinity}}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(RelationPlot({{1, 1, kNan}, {1, 1, 0.5}}).ok());
}

TEST(RelationPlotTest, SaysThatItDrawsAChoice) {
  const std::vector<RelationRanks> many(1001, RelationRanks{5, 2, 0.5});
  const auto svg = RelationPlot(many);
  ASSERT_TRUE(svg.ok()) << svg.status();
  EXPECT_THAT(*svg, HasSubstr("relations with most queries, of 1\u202F001"));
}

TEST(FrequencyPlotTest, ShowsBothSidesOfEachGroup) {
  const std::vector<std::string> groups = {"0", "1", "2–3", "4–7"};
  const auto svg =
      FrequencyPlot(groups, {{"tails", {kNan, 0.2, 0.3, 0.9}}, {"heads", {0.1, 0.1, 0.2, 0.4}}}, {0.1, 0.2, 0.3, 0.4});
  ASSERT_TRUE(svg.ok()) << svg.status();
  EXPECT_TRUE(IsWellFormedXml("ranks_by_frequency.svg", *svg));
  for (const char* text : {"tails", "heads", ">2–3<", ">4–7<", "Training triples that the answer is in", ">Share<"}) {
    EXPECT_THAT(*svg, HasSubstr(text));
  }
}

TEST(FrequencyPlotTest, TakesOneGroupAndManyAndRefusesNone) {
  EXPECT_TRUE(FrequencyPlot({"7"}, {{"tails", {1}}}, {1}).ok());
  std::vector<std::string> names;
  for (int g = 0; g < 30; ++g) names.push_back(absl::StrCat("g", g));
  const auto many = FrequencyPlot(names, {{"tails", std::vector<double>(30, 0.5)}}, std::vector<double>(30, 1.0 / 30));
  ASSERT_TRUE(many.ok()) << many.status();
  EXPECT_THAT(*many, HasSubstr(">g27<"));
  EXPECT_THAT(*many, Not(HasSubstr(">g28<"))) << "labels must not overlap";
  EXPECT_EQ(FrequencyPlot({}, {}, {}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FrequencyPlot({"1"}, {{"tails", {kNan}}}, {1}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace rutile
