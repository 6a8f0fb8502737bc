#include "lib/kg/rank_options.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

TEST(RankOptionsTest, NamesAreReadBack) {
  for (const char* name : {"train", "valid", "test"}) EXPECT_EQ(GraphSplitName(*ParseGraphSplit(name)), name);
  for (const char* name : {"train", "train+valid", "all"})
    EXPECT_EQ(RankingFilterName(*ParseRankingFilter(name)), name);
  for (const char* name : {"auto", "tail", "both"}) EXPECT_EQ(RankingDirectionName(*ParseRankingDirection(name)), name);
  for (const char* name : {"standard", "tiepin", "original"}) {
    EXPECT_EQ(RankingConventionName(*ParseRankingConvention(name)), name);
  }
}

TEST(RankOptionsTest, OtherNamesAreRefusedWithWhatThereIs) {
  EXPECT_EQ(ParseGraphSplit("dev").status().message(), "--split=dev: expected train, valid, test");
  EXPECT_EQ(ParseRankingFilter("test").status().message(), "--filter=test: expected train, train+valid, all");
  EXPECT_FALSE(ParseRankingDirection("heads").ok());
  EXPECT_FALSE(ParseRankingConvention("").ok());
}

TEST(RankOptionsTest, WrongConventionsAreCalledWrong) {
  EXPECT_EQ(ConventionNote(RankingConvention::kStandard), "");
  EXPECT_THAT(ConventionNote(RankingConvention::kTiepin), HasSubstr("tiepin: a known wrong convention"));
  EXPECT_THAT(ConventionNote(RankingConvention::kOriginal), HasSubstr("original: a known wrong convention"));
}

TEST(RankOptionsTest, SplitTriplesIsTheNamedSplit) {
  KnowledgeGraph graph;
  graph.train = {{0, 0, 1}};
  graph.valid = {{1, 0, 1}, {1, 0, 0}};
  EXPECT_EQ(SplitTriples(graph, GraphSplit::kTrain).size(), 1);
  EXPECT_EQ(SplitTriples(graph, GraphSplit::kValid).size(), 2);
  EXPECT_TRUE(SplitTriples(graph, GraphSplit::kTest).empty());
}

}  // namespace
}  // namespace rutile
