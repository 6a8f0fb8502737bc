#include "lib/graph/reverse_leaks.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

KnowledgeGraph Graph(int num_entities, std::vector<std::string> relations) {
  KnowledgeGraph graph;
  for (int i = 0; i < num_entities; ++i) graph.entities.push_back(std::to_string(i));
  graph.relations = std::move(relations);
  return graph;
}

TEST(ReverseLeaksTest, InversesAreCountedAndNamed) {
  KnowledgeGraph graph = Graph(40, {"part_of", "has_part", "likes"});
  for (int i = 0; i < 20; ++i) {
    graph.train.push_back({i, 0, i + 20});
    if (i < 10) graph.train.push_back({i + 20, 1, i});
    graph.train.push_back({i, 2, (i + 7) % 20});
  }
  graph.test = {{35, 1, 15}, {36, 1, 16}, {1, 2, 30}, {5, 1, 6}};
  const LeakReport report = FindReverseLeaks(graph)[1];
  EXPECT_EQ(report.count, 2);
  EXPECT_THAT(report.leaks, ElementsAre(1, 1, 0, 0));
  ASSERT_EQ(report.pairs.size(), 1);
  EXPECT_EQ(report.pairs[0].kind, RelationLeak::kInverse);
  EXPECT_EQ(report.pairs[0].relation, 1);
  EXPECT_EQ(report.pairs[0].other, 0);
  EXPECT_NEAR(report.pairs[0].share, 12.0 / 13, 1e-12);
  EXPECT_EQ(DescribeLeaks(report, graph, 5), "\"has_part\" as the inverse of \"part_of\" (2; 92 % of its triples)");
}

// What is not learned gives no answer away.
TEST(ReverseLeaksTest, TriplesOfWeightZeroGiveNothingAway) {
  KnowledgeGraph graph = Graph(40, {"part_of", "has_part"});
  for (int i = 0; i < 20; ++i) {
    graph.train.push_back({i, 0, i + 20});
    if (i < 10) graph.train.push_back({i + 20, 1, i});
  }
  graph.test = {{35, 1, 15}, {36, 1, 16}, {37, 1, 17}};
  EXPECT_EQ(FindReverseLeaks(graph)[1].count, 3);
  graph.train_weights.assign(graph.train.size(), 1);
  for (size_t i = 0; i < graph.train.size(); ++i) {
    if (graph.train[i] == Triple{16, 0, 36}) graph.train_weights[i] = 0;
  }
  EXPECT_THAT(FindReverseLeaks(graph)[1].leaks, ElementsAre(1, 0, 1));
}

TEST(ReverseLeaksTest, SymmetricRelationsAndSynonyms) {
  KnowledgeGraph graph = Graph(40, {"near", "close_to", "next"});
  for (int i = 0; i < 20; ++i) {
    graph.train.push_back({i, 0, i + 20});
    if (i > 0) graph.train.push_back({i + 20, 0, i});
    if (i > 1) graph.train.push_back({i, 1, i + 20});
    graph.train.push_back({i, 2, (i + 1) % 20});
  }
  graph.valid = {{20, 0, 0}};
  graph.test = {{0, 1, 20}, {1, 1, 21}, {3, 2, 5}};
  const auto reports = FindReverseLeaks(graph);
  EXPECT_THAT(DescribeLeaks(reports[0], graph, 5), HasSubstr("\"near\", which is symmetric (1; 100 %"));
  EXPECT_THAT(reports[1].leaks, ElementsAre(1, 1, 0));
  EXPECT_THAT(DescribeLeaks(reports[1], graph, 5), HasSubstr("\"close_to\" as another name of \"near\" (2; 100 %"));
  EXPECT_EQ(DescribeLeaks(reports[1], graph, 0), ", ...");
}

// In a dense graph, every pair has many relations by chance; none of them gives another away.
TEST(ReverseLeaksTest, ChanceIsNoLeak) {
  KnowledgeGraph graph = Graph(14, {"a", "b", "c", "d"});
  RandomStream random(3, "dense");
  for (int r = 0; r < 4; ++r) {
    for (int head = 0; head < 14; ++head) {
      for (int tail = 0; tail < 14; ++tail) {
        if (random.Uniform() > 0.7) continue;
        (random.Uniform() < 0.1 ? graph.test : graph.train).push_back({head, r, tail});
      }
    }
  }
  ASSERT_GT(graph.test.size(), 30);
  EXPECT_EQ(FindReverseLeaks(graph)[1].count, 0);
}

TEST(ReverseLeaksTest, LoopsAndEmptySplits) {
  KnowledgeGraph graph = Graph(3, {"r", "s"});
  graph.train = {{0, 0, 0}, {0, 0, 1}};
  EXPECT_EQ(FindReverseLeaks(graph)[0].count, 0);
  graph.test = {{0, 1, 0}, {2, 1, 1}};
  EXPECT_EQ(FindReverseLeaks(graph)[1].count, 0);
  EXPECT_THAT(FindReverseLeaks(graph)[1].pairs, IsEmpty());
}

}  // namespace
}  // namespace rutile
