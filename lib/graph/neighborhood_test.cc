#include "lib/graph/neighborhood.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/file/file.h"
#include "lib/graph/triple.h"
#include "lib/graph/triples_file.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// 0 -r- 1 -s- 2 -r- 3 in training, 4 -q- 0 only in test, 5 alone.
KnowledgeGraph Chain() {
  KnowledgeGraph graph;
  graph.entities = {"e0", "e1", "e2", "e3", "e4", "e5"};
  graph.entity_labels = {"E0", "E1", "E2", "E3", "E4", "E5"};
  graph.relations = {"q", "r", "s"};
  graph.relation_labels = {"Q", "R", "S"};
  graph.train = {{0, 1, 1}, {2, 2, 1}, {2, 1, 3}, {3, 1, 3}};
  graph.valid = {{1, 1, 3}};
  graph.test = {{4, 0, 0}};
  return graph;
}

TEST(NeighborhoodTest, Hops) {
  const auto one = CutNeighborhood(Chain(), {3}, 1);
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_THAT(one->graph.entities, ElementsAre("e2", "e3"));
  EXPECT_THAT(one->graph.entity_labels, ElementsAre("E2", "E3"));
  EXPECT_THAT(one->graph.relations, ElementsAre("r"));
  EXPECT_THAT(one->graph.relation_labels, ElementsAre("R"));
  EXPECT_THAT(one->graph.train, ElementsAre(Triple{0, 0, 1}, Triple{1, 0, 1}));
  EXPECT_THAT(one->graph.valid, IsEmpty());
  EXPECT_THAT(one->entities_by_hop, ElementsAre(1, 1));
  EXPECT_TRUE(CheckGraph(one->graph).ok());

  const auto two = CutNeighborhood(Chain(), {3, 3}, 2);
  ASSERT_TRUE(two.ok()) << two.status();
  EXPECT_THAT(two->graph.entities, ElementsAre("e1", "e2", "e3"));
  EXPECT_THAT(two->graph.relations, ElementsAre("r", "s"));
  EXPECT_THAT(two->graph.train, ElementsAre(Triple{1, 1, 0}, Triple{1, 0, 2}, Triple{2, 0, 2}));
  EXPECT_THAT(two->graph.valid, ElementsAre(Triple{0, 0, 2}));

  // Test triples are not walked.
  const auto all = CutNeighborhood(Chain(), {3}, 100);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_THAT(all->graph.entities, ElementsAre("e0", "e1", "e2", "e3"));
  EXPECT_THAT(all->graph.test, IsEmpty());
}

TEST(NeighborhoodTest, EntitiesKeepTheirTypes) {
  KnowledgeGraph graph = Chain();
  EntityTypesBuilder types;
  types.Add(3, "last");
  types.Add(0, "first");
  graph.entity_types = types.Build(graph.num_entities());
  const auto cut = CutNeighborhood(graph, {3}, 1);
  ASSERT_TRUE(cut.ok()) << cut.status();
  EXPECT_THAT(cut->graph.entity_types.names, ElementsAre("last"));
  EXPECT_THAT(cut->graph.entity_types.begin, ElementsAre(0, 0, 1));
}

TEST(NeighborhoodTest, NoHopKeepsTriplesAmongTheEntities) {
  KnowledgeGraph graph = Chain();
  graph.inverse_relations = false;
  const auto cut = CutNeighborhood(graph, {0, 4, 1}, 0);
  ASSERT_TRUE(cut.ok()) << cut.status();
  EXPECT_THAT(cut->graph.entities, ElementsAre("e0", "e1", "e4"));
  EXPECT_THAT(cut->graph.train, ElementsAre(Triple{0, 1, 1}));
  EXPECT_THAT(cut->graph.test, ElementsAre(Triple{2, 0, 0}));
  EXPECT_THAT(cut->graph.relations, ElementsAre("q", "r"));
  EXPECT_FALSE(cut->graph.inverse_relations);
}

TEST(NeighborhoodTest, NeighborsAreAskedForTwice) {
  const EntityNeighbors neighbors(Chain());
  std::vector<int64_t> by_hop;
  EXPECT_THAT(neighbors.Within({3}, 1, &by_hop), ElementsAre(false, false, true, true, false, false));
  EXPECT_THAT(by_hop, ElementsAre(1, 1));
  EXPECT_THAT(neighbors.Within({}, 2), ElementsAre(false, false, false, false, false, false));
  EXPECT_THAT(neighbors.Within({3}, 0), ElementsAre(false, false, false, true, false, false));
}

TEST(NeighborhoodTest, Errors) {
  EXPECT_THAT(std::string(CutNeighborhood(Chain(), {5}, 3).status().message()),
              HasSubstr("no training triple joins the 1 entities within 3 hops"));
  EXPECT_THAT(std::string(CutNeighborhood(Chain(), {0}, -1).status().message()), HasSubstr("hops is -1"));
  EXPECT_THAT(std::string(CutNeighborhood(Chain(), {}, 1).status().message()), HasSubstr("no entity"));
}

// Computes distances by repeated passes over all triples.
TEST(NeighborhoodTest, EqualsBruteForce) {
  KnowledgeGraph graph;
  RandomStream random(3, "neighborhood");
  for (int i = 0; i < 200; ++i) graph.entities.push_back(absl::StrCat("e", i));
  graph.relations = {"r"};
  for (int i = 0; i < 220; ++i) {
    graph.train.push_back({static_cast<int32_t>(random.Below(200)), 0, static_cast<int32_t>(random.Below(200))});
  }
  for (int hops = 1; hops < 6; ++hops) {
    std::vector<int> distance(200, 99);
    distance[graph.train[0].head] = 0;
    for (int pass = 0; pass < 200; ++pass) {
      for (const Triple& t : graph.train) {
        distance[t.head] = std::min(distance[t.head], distance[t.tail] + 1);
        distance[t.tail] = std::min(distance[t.tail], distance[t.head] + 1);
      }
    }
    std::vector<std::string> expected;
    for (int i = 0; i < 200; ++i) {
      if (distance[i] <= hops) expected.push_back(graph.entities[i]);
    }
    const auto cut = CutNeighborhood(graph, {graph.train[0].head}, hops);
    ASSERT_TRUE(cut.ok()) << cut.status();
    EXPECT_EQ(cut->graph.entities, expected);
    for (int hop = 0; hop <= hops; ++hop) {
      EXPECT_EQ(cut->entities_by_hop[hop], std::count(distance.begin(), distance.end(), hop));
    }
  }
}

TEST(NeighborhoodTest, EntitiesOfAFile) {
  const std::string path = ::testing::TempDir() + "/entities.txt";
  ASSERT_TRUE(WriteFileAtomically(path, "# first\ne3\r\n\ne1\ne3").ok());
  EXPECT_THAT(*ReadEntities(path, Chain()), ElementsAre(3, 1));
  // A name may begin as a comment does.
  KnowledgeGraph graph = Chain();
  graph.entities[2] = "#two";
  ASSERT_TRUE(WriteFileAtomically(path, "#two\n#three\ne1\n").ok());
  EXPECT_THAT(*ReadEntities(path, graph), ElementsAre(2, 1));
  ASSERT_TRUE(WriteFileAtomically(path, "e3\ne 1\n").ok());
  EXPECT_THAT(std::string(ReadEntities(path, Chain()).status().message()),
              HasSubstr("entities.txt:2: the graph has no entity \"e 1\""));
  ASSERT_TRUE(WriteFileAtomically(path, "\n").ok());
  EXPECT_THAT(std::string(ReadEntities(path, Chain()).status().message()), HasSubstr("names no entity"));
  EXPECT_EQ(ReadEntities("none", Chain()).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace rutile
