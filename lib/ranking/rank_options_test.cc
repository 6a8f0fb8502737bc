#include "lib/ranking/rank_options.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/ranking/gpu/host_counting_device.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

TEST(RankOptionsTest, NamesAreReadBack) {
  for (const char* name : {"train", "valid", "test"}) EXPECT_EQ(GraphSplitName(*ParseGraphSplit(name)), name);
  for (const char* name : {"train", "train+valid", "all"}) {
    EXPECT_EQ(RankingFilterName(*ParseRankingFilter(name)), name);
  }
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

TEST(RankOptionsTest, WhereCandidatesAreRefused) {
  KnowledgeGraph graph;
  graph.entities = {"a", "b"};
  graph.relations = {"r"};
  graph.train = {{0, 0, 1}};
  CandidateRule seen;
  seen.kind = CandidateRule::Kind::kSeen;
  const Candidates both(graph, {}, {0}, seen, seen), tails(graph, {}, {0}, CandidateRule(), seen);
  const auto message = [](const RankTriplesOptions& options, bool inverses) {
    return std::string(CheckRankTriplesOptions(options, inverses).message());
  };
  RankTriplesOptions options;
  options.candidates = &both;
  EXPECT_EQ(message(options, true), "");
  EXPECT_THAT(message(options, false), HasSubstr("--head_candidates"));
  options.candidates = &tails;
  EXPECT_EQ(message(options, false), "");
  options.convention = RankingConvention::kOriginal;
  EXPECT_THAT(message(options, true), HasSubstr("--ranking_convention=original reproduces"));
  options.convention = RankingConvention::kStandard;
  const std::unique_ptr<CountingDevice> device = MakeHostCountingDevice();
  options.device = device.get();
  EXPECT_THAT(message(options, true), HasSubstr("needs --device=cpu"));
}

TEST(RankOptionsTest, SplitTriplesIsTheNamedSplit) {
  KnowledgeGraph graph;
  graph.train = {{0, 0, 1}};
  graph.valid = {{1, 0, 1}, {1, 0, 0}};
  EXPECT_EQ(SplitTriples(graph, GraphSplit::kTrain).size(), 1);
  EXPECT_EQ(SplitTriples(graph, GraphSplit::kValid).size(), 2);
  EXPECT_TRUE(SplitTriples(graph, GraphSplit::kTest).empty());
}

TEST(RankOptionsTest, ShardsOfTriplesKeepRelationsTogether) {
  std::vector<Triple> triples;
  for (int32_t i = 0; i < 20; ++i) triples.push_back({i % 3, i % 2, i});
  std::vector<int64_t> all;
  for (int shard = 1; shard <= 3; ++shard) {
    const std::vector<int64_t> part = RankShard(triples, shard, 3);
    EXPECT_TRUE(std::is_sorted(part.begin(), part.end()));
    all.insert(all.end(), part.begin(), part.end());
  }
  std::sort(all.begin(), all.end());
  std::vector<int64_t> expected(20);
  std::iota(expected.begin(), expected.end(), int64_t{0});
  EXPECT_EQ(all, expected);
  for (const int64_t i : RankShard(triples, 1, 2)) EXPECT_EQ(triples[i].relation, 0);
  // With more parts than triples, some are empty.
  EXPECT_EQ(RankShard({triples.data(), 1}, 1, 2).size() + RankShard({triples.data(), 1}, 2, 2).size(), 1);
}

}  // namespace
}  // namespace rutile
