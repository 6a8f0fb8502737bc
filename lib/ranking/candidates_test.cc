#include "lib/ranking/candidates.h"

#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = CandidateRule::Kind;

// Drugs 0 and 1, genes 2 and 3, a disease 4, and 5 without a type; 0 is a chemical, too.
KnowledgeGraph Graph() {
  KnowledgeGraph graph;
  graph.entities = {"d0", "d1", "g2", "g3", "m4", "x5"};
  graph.relations = {"treats", "targets", "untrained"};
  graph.train = {{0, 0, 4}, {0, 1, 2}, {5, 1, 2}};
  graph.test = {{1, 0, 4}, {1, 2, 3}};
  EntityTypesBuilder types;
  for (const int32_t e : {0, 1}) types.Add(e, "drug");
  for (const int32_t e : {2, 3}) types.Add(e, "gene");
  types.Add(4, "disease");
  types.Add(0, "chemical");
  graph.entity_types = types.Build(6);
  return graph;
}

CandidateRule Rule(Kind kind) {
  CandidateRule rule;
  rule.kind = kind;
  return rule;
}

std::vector<int32_t> Members(const EntitySet* set) {
  std::vector<int32_t> members;
  for (int32_t e = 0; e < 6; ++e) {
    if (set->Has(e)) members.push_back(e);
  }
  EXPECT_EQ(members.size(), set->size());
  return members;
}

TEST(CandidatesTest, SeenOnThatSideInTraining) {
  const KnowledgeGraph graph = Graph();
  const Candidates candidates(graph, {}, {0, 1, 2, 1}, Rule(Kind::kSeen), Rule(Kind::kSeen));
  EXPECT_THAT(Members(candidates.Of(0, true)), ElementsAre(0));
  EXPECT_THAT(Members(candidates.Of(0, false)), ElementsAre(4));
  EXPECT_THAT(Members(candidates.Of(1, true)), ElementsAre(0, 5));
  EXPECT_THAT(Members(candidates.Of(1, false)), ElementsAre(2));
  EXPECT_THAT(Members(candidates.Of(2, true)), IsEmpty());
  EXPECT_EQ(candidates.description(),
            "heads among those seen on that side of the relation in training (0 to 2 of 6 entities), "
            "tails among those seen on that side of the relation in training (0 to 1 of 6 entities)");
}

TEST(CandidatesTest, OfTheTypesSeenOnThatSide) {
  const KnowledgeGraph graph = Graph();
  const Candidates candidates(graph, graph.entity_types, {0, 1}, Rule(Kind::kTypes), Rule(Kind::kTypes));
  EXPECT_THAT(Members(candidates.Of(0, true)), ElementsAre(0, 1));
  EXPECT_THAT(Members(candidates.Of(0, false)), ElementsAre(4));
  EXPECT_THAT(Members(candidates.Of(1, true)), ElementsAre(0, 1));  // 5 has no type that could be that of others
  EXPECT_THAT(Members(candidates.Of(1, false)), ElementsAre(2, 3));
  EXPECT_EQ(candidates.Of(0, true), candidates.Of(1, true));  // stored once
}

TEST(CandidatesTest, AListForOneSide) {
  const KnowledgeGraph graph = Graph();
  CandidateRule rule = Rule(Kind::kListed);
  rule.entities = {5, 0, 5};
  rule.name = "list.txt";
  const Candidates candidates(graph, {}, {0, 1}, CandidateRule(), rule);
  EXPECT_FALSE(candidates.has(true));
  EXPECT_TRUE(candidates.has(false));
  EXPECT_EQ(candidates.Of(0, true), nullptr);
  EXPECT_THAT(Members(candidates.Of(1, false)), ElementsAre(0, 5));
  EXPECT_EQ(candidates.description(), "tails among list.txt (2 of 6 entities)");
  EXPECT_EQ(candidates.sha256(), Candidates(graph, {}, {1, 0}, CandidateRule(), rule).sha256());
  EXPECT_NE(candidates.sha256(), Candidates(graph, {}, {0, 1}, rule, CandidateRule()).sha256());
  rule.entities = {4, 0};
  EXPECT_NE(candidates.sha256(), Candidates(graph, {}, {0, 1}, CandidateRule(), rule).sha256());
}

TEST(EntitySetTest, BitsAroundWords) {
  for (const int64_t num : {1, 63, 64, 65, 130}) {
    std::vector<int32_t> last = {static_cast<int32_t>(num - 1), 0};
    const EntitySet set(num, last);
    EXPECT_EQ(set.size(), num == 1 ? 1 : 2);
    for (int32_t e = 0; e < num; ++e) EXPECT_EQ(set.Has(e), e == 0 || e == num - 1) << num << " " << e;
  }
}

}  // namespace
}  // namespace rutile
