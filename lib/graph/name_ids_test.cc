#include "lib/graph/name_ids.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

TEST(NameIdsTest, NamesBeforeLabels) {
  const std::vector<std::string> names = {"Q1", "Q2", "Q3", "Q4"}, labels = {"iron", "Q1", "lead", "lead"};
  const NameIds ids("entity", names, labels);
  EXPECT_EQ(*ids.Find("Q1"), 0);
  EXPECT_EQ(*ids.Find("Q4"), 3);
  EXPECT_EQ(*ids.Find("iron"), 0);
  EXPECT_THAT(std::string(ids.Find("lead").status().message()), HasSubstr("several entities have the label \"lead\""));
  EXPECT_THAT(std::string(ids.Find("").status().message()), HasSubstr("no entity is called \"\""));
  for (const char* known : {"Q1", "iron", "lead"}) EXPECT_TRUE(ids.Has(known)) << known;
  EXPECT_FALSE(ids.Has("Q5"));
  const std::vector<std::string> none;
  const NameIds relations("relation", names, none);
  EXPECT_THAT(std::string(relations.Find("iron").status().message()), HasSubstr("no relation is called \"iron\""));
}

}  // namespace
}  // namespace rutile
