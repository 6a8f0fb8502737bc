#include "lib/graph/triple_weights.h"

#include <cmath>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/graph/neighborhood.h"
#include "lib/graph/split_graph.h"
#include "lib/graph/triples_file.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

KnowledgeGraph Weighted() {
  KnowledgeGraph graph;
  graph.entities = {"a", "b", "c"};
  graph.relations = {"r", "s"};
  graph.train = {{0, 0, 1}, {2, 1, 0}};
  graph.valid = {{1, 1, 2}};
  graph.negatives = {{0, 1, 2}, {2, 0, 2}};
  graph.train_weights = {0.1, 0};
  graph.valid_weights = {3};
  graph.negative_weights = {1, 0.5};
  return graph;
}

TEST(TripleWeightsTest, FilesHaveThem) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/weights.safetensors");
  const KnowledgeGraph graph = Weighted();
  ASSERT_TRUE(WriteTriples(path, graph, {}).ok());
  const auto read = ReadTriples(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->negatives, graph.negatives);
  EXPECT_EQ(read->train_weights, graph.train_weights);
  EXPECT_EQ(read->valid_weights, graph.valid_weights);
  EXPECT_TRUE(read->test_weights.empty());
  EXPECT_EQ(read->negative_weights, graph.negative_weights);
  EXPECT_EQ(WeightsSha256(*read), WeightsSha256(graph));
  EXPECT_TRUE(HasWeightsOrNegatives(*read));
}

TEST(TripleWeightsTest, AHashKnowsEachWeightAndFalseTriple) {
  const std::string hash = WeightsSha256(Weighted());
  for (int change = 0; change < 4; ++change) {
    KnowledgeGraph graph = Weighted();
    if (change == 0) graph.train_weights[0] = 0.2;
    if (change == 1) graph.negative_weights.clear();
    if (change == 2) graph.negatives[0].tail = 1;
    if (change == 3) graph.valid_weights[0] = 1;
    EXPECT_NE(WeightsSha256(graph), hash) << change;
    EXPECT_EQ(TriplesSha256(graph), TriplesSha256(Weighted()));
  }
  KnowledgeGraph plain = Weighted();
  plain.negatives.clear();
  plain.train_weights.clear(), plain.valid_weights.clear(), plain.negative_weights.clear();
  EXPECT_EQ(WeightsSha256(plain), "");
  EXPECT_FALSE(HasWeightsOrNegatives(plain));
}

std::string ErrorOf(const KnowledgeGraph& graph) {
  const absl::Status status = CheckGraph(graph);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(TripleWeightsTest, WrongOnesAreRefused) {
  EXPECT_TRUE(CheckGraph(Weighted()).ok());
  for (const double wrong : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    KnowledgeGraph graph = Weighted();
    graph.train_weights[1] = wrong;
    EXPECT_THAT(ErrorOf(graph), HasSubstr("train triple 1"));
  }
  KnowledgeGraph graph = Weighted();
  graph.train_weights = {0, 0};
  EXPECT_THAT(ErrorOf(graph), HasSubstr("all 2 train triples are 0"));
  graph.train_weights = {1};
  EXPECT_THAT(ErrorOf(graph), HasSubstr("1 weights of 2 triples"));
  graph = Weighted();
  graph.negatives[1] = graph.negatives[0];
  EXPECT_THAT(ErrorOf(graph), HasSubstr("negatives triple 1 comes twice"));
  graph = Weighted();
  graph.negatives[1] = graph.valid[0];
  EXPECT_THAT(ErrorOf(graph), HasSubstr("valid triple 0"));
  graph = Weighted();
  graph.negatives[1].tail = 3;
  EXPECT_THAT(ErrorOf(graph), HasSubstr("negatives triple 1"));
}

// A weight follows its triple to another split and to a part of the graph.
TEST(TripleWeightsTest, WeightsFollowTheirTriples) {
  KnowledgeGraph graph;
  for (int e = 0; e < 30; ++e) graph.entities.push_back(absl::StrCat("e", e));
  graph.relations = {"r"};
  for (int32_t e = 0; e < 30; ++e) {
    for (const int32_t step : {1, 2, 5}) {
      graph.train.push_back({e, 0, (e + step) % 30});
      graph.train_weights.push_back(100 * e + step);
    }
  }
  graph.negatives = {{0, 0, 0}, {0, 0, 17}};
  graph.negative_weights = {2, 4};
  const auto check = [](const KnowledgeGraph& part, int entities) {
    for (const TripleList& list : kTripleLists) {
      if (list.triples == &KnowledgeGraph::negatives) continue;
      const auto& triples = part.*list.triples;
      ASSERT_EQ((part.*list.triple_weights).size(), triples.size());
      for (size_t i = 0; i < triples.size(); ++i) {
        const int head = std::stoi(part.entities[triples[i].head].substr(1));
        const int tail = std::stoi(part.entities[triples[i].tail].substr(1));
        EXPECT_EQ((part.*list.triple_weights)[i], 100 * head + (tail - head + 30) % 30) << entities;
      }
    }
  };
  GraphSplitOptions split;
  split.validation_fraction = split.test_fraction = 0.2;
  ASSERT_TRUE(SplitTraining(split, &graph).ok());
  EXPECT_EQ(graph.valid.size(), 18);
  check(graph, 30);
  const auto part = CutNeighborhood(graph, {0}, 1);
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_LT(part->graph.num_entities(), 30);
  check(part->graph, static_cast<int>(part->graph.num_entities()));
  EXPECT_THAT(part->graph.negatives, ElementsAre(Triple{0, 0, 0}));
  EXPECT_THAT(part->graph.negative_weights, ElementsAre(2));
}

}  // namespace
}  // namespace rutile
