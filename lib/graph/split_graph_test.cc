#include "lib/graph/split_graph.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::IsEmpty;

// A graph of 200 entities, most of them rare, and 12 relations from one triple to hundreds.
KnowledgeGraph RandomGraph() {
  KnowledgeGraph graph;
  for (int i = 0; i < 200; ++i) graph.entities.push_back(absl::StrCat("e", i));
  for (int i = 0; i < 12; ++i) graph.relations.push_back(absl::StrCat("r", i));
  RandomStream random(1, "graph");
  std::set<Triple> seen;
  const auto skewed = [&](int n) { return static_cast<int32_t>(random.Below(random.Below(n) + 1)); };
  while (graph.train.size() < 1200) {
    const Triple triple = {skewed(200), skewed(12), skewed(200)};
    if (seen.insert(triple).second) graph.train.push_back(triple);
  }
  return graph;
}

std::set<int32_t> Entities(const std::vector<Triple>& triples) {
  std::set<int32_t> entities;
  for (const Triple& triple : triples) entities.insert({triple.head, triple.tail});
  return entities;
}

std::vector<int64_t> PerRelation(const std::vector<Triple>& triples) {
  std::vector<int64_t> counts(12, 0);
  for (const Triple& triple : triples) ++counts[triple.relation];
  return counts;
}

// Triples of weight 0 stay as known answers, and each name is learned from others.
TEST(SplitGraphTest, TriplesOfWeightZeroStayAndKeepNoName) {
  const KnowledgeGraph whole = RandomGraph();
  KnowledgeGraph graph = whole;
  std::set<int32_t> learned;
  std::vector<Triple> weightless;
  for (size_t i = 0; i < graph.train.size(); ++i) {
    graph.train_weights.push_back(i % 3 == 0 ? 0 : 2);
    if (i % 3 == 0) weightless.push_back(graph.train[i]);
    if (i % 3 != 0) learned.insert({graph.train[i].head, graph.train[i].tail});
  }
  const auto result = SplitTraining({/*validation_fraction=*/0.1, /*test_fraction=*/0.2, /*seed=*/5}, &graph);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->valid, 80);
  EXPECT_EQ(result->test, 160);
  EXPECT_EQ(graph.valid_weights, std::vector<double>(80, 2));
  std::vector<Triple> stayed, kept;
  for (size_t i = 0; i < graph.train.size(); ++i) {
    (graph.train_weights[i] == 0 ? stayed : kept).push_back(graph.train[i]);
  }
  EXPECT_EQ(stayed, weightless);
  EXPECT_EQ(Entities(kept), learned);
}

TEST(SplitGraphTest, SharesPerRelationAndNothingUnseen) {
  const KnowledgeGraph whole = RandomGraph();
  KnowledgeGraph graph = whole;
  const auto result = SplitTraining({/*validation_fraction=*/0.1, /*test_fraction=*/0.2, /*seed=*/5}, &graph);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->valid, 120);
  EXPECT_EQ(result->test, 240);
  EXPECT_EQ(result->valid_short + result->test_short, 0);
  EXPECT_EQ(graph.train.size(), 840);
  EXPECT_EQ(graph.valid.size(), 120);
  EXPECT_EQ(graph.test.size(), 240);
  EXPECT_EQ(Entities(graph.train), Entities(whole.train));
  const std::vector<int64_t> all = PerRelation(whole.train), train = PerRelation(graph.train),
                             test = PerRelation(graph.test), valid = PerRelation(graph.valid);
  for (size_t r = 0; r < all.size(); ++r) {
    EXPECT_EQ(train[r] > 0, all[r] > 0) << r;
    EXPECT_NEAR(test[r], 0.2 * all[r], 1.01) << r;
    EXPECT_NEAR(valid[r], 0.1 * all[r], 1.01) << r;
  }
  // Nothing is lost, and the order stays.
  std::vector<Triple> sum = graph.train;
  sum.insert(sum.end(), graph.valid.begin(), graph.valid.end());
  sum.insert(sum.end(), graph.test.begin(), graph.test.end());
  EXPECT_TRUE(std::is_permutation(sum.begin(), sum.end(), whole.train.begin(), whole.train.end()));
  auto at = whole.train.begin();
  for (const Triple& triple : graph.test) {
    at = std::find(at, whole.train.end(), triple);
    ASSERT_NE(at, whole.train.end());
  }
}

TEST(SplitGraphTest, TheSeedDecidesAlone) {
  KnowledgeGraph a = RandomGraph(), b = RandomGraph(), c = RandomGraph();
  std::reverse(b.train.begin(), b.train.end());
  ASSERT_TRUE(SplitTraining({0, 0.1, 1}, &a).ok());
  ASSERT_TRUE(SplitTraining({0, 0.1, 1}, &b).ok());
  ASSERT_TRUE(SplitTraining({0, 0.1, 2}, &c).ok());
  EXPECT_THAT(a.valid, IsEmpty());
  EXPECT_NE(a.test, c.test);
  std::reverse(b.test.begin(), b.test.end());
  EXPECT_EQ(a.test, b.test);
}

// A chain can give no triple without losing an entity; with a loop at one end, it can give the loop or its neighbor.
TEST(SplitGraphTest, WhatTrainingNeedsStays) {
  for (int seed = 0; seed < 20; ++seed) {
    KnowledgeGraph graph;
    graph.entities = {"a", "b", "c"};
    graph.relations = {"r"};
    graph.train = {{0, 0, 1}, {1, 0, 2}, {2, 0, 2}};
    const auto result = SplitTraining({0, 0.6, static_cast<uint64_t>(seed)}, &graph);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(Entities(graph.train).size(), 3);
    EXPECT_EQ(result->test, 1);
    EXPECT_EQ(result->test_short, 1);
    graph.train = {{0, 0, 1}, {1, 0, 2}};
    EXPECT_THAT(SplitTraining({0, 0.5, 0}, &graph),
                ErrorNames(absl::StatusCode::kInvalidArgument, {"--split", "0.5", "2 triples"}));
  }
}

TEST(SplitGraphTest, SharesAreChecked) {
  EXPECT_TRUE(CheckGraphSplitOptions({}).ok());
  EXPECT_TRUE(CheckGraphSplitOptions({0.5, 0.4, 0}).ok());
  EXPECT_THAT(CheckGraphSplitOptions({0.8, 0.2, 0}),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"--split", "0.8"}));
  EXPECT_THAT(CheckGraphSplitOptions({-0.1, 0.2, 0}), ErrorNames({"--split", "-0.1"}));
}

}  // namespace
}  // namespace rutile
