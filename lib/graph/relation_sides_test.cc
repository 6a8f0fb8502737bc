#include "lib/graph/relation_sides.h"

#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(RelationSidesTest, TrainingAloneCounts) {
  KnowledgeGraph graph;
  graph.entities = {"a", "b", "c", "d"};
  graph.relations = {"r", "s", "untrained"};
  graph.train = {{3, 0, 1}, {0, 0, 1}, {3, 0, 2}, {1, 1, 1}};
  graph.valid = {{2, 0, 3}};
  graph.test = {{2, 2, 0}};
  const RelationSides sides = SeenSides(graph);
  EXPECT_THAT(sides.heads, ElementsAre(ElementsAre(0, 3), ElementsAre(1), IsEmpty()));
  EXPECT_THAT(sides.tails, ElementsAre(ElementsAre(1, 2), ElementsAre(1), IsEmpty()));
  EXPECT_EQ(sides.Of(0, true), sides.heads[0]);
  EXPECT_EQ(sides.Of(0, false), sides.tails[0]);

  EntityTypesBuilder builder;
  builder.Add(0, "x");
  builder.Add(3, "x");
  builder.Add(3, "y");
  builder.Add(1, "z");
  const EntityTypes types = builder.Build(4);
  EXPECT_THAT(TypesAmong(types, sides.heads[0]), ElementsAre(std::make_pair(0, 2), std::make_pair(1, 1)));
  EXPECT_THAT(TypesAmong(types, sides.tails[0]), ElementsAre(std::make_pair(2, 1)));
  EXPECT_THAT(TypesAmong(types, sides.tails[2]), IsEmpty());
  EXPECT_THAT(TypesAmong({}, sides.heads[0]), IsEmpty());
}

// A triple of weight 0 is known, and not learned.
TEST(RelationSidesTest, TriplesOfWeightZeroShowNothing) {
  KnowledgeGraph graph;
  graph.entities = {"a", "b", "c"};
  graph.relations = {"r"};
  graph.train = {{0, 0, 1}, {2, 0, 1}, {0, 0, 2}};
  graph.train_weights = {0.5, 0, 0};
  const RelationSides sides = SeenSides(graph);
  EXPECT_THAT(sides.heads, ElementsAre(ElementsAre(0)));
  EXPECT_THAT(sides.tails, ElementsAre(ElementsAre(1)));
}

}  // namespace
}  // namespace rutile
