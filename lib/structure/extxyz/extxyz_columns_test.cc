#include "lib/structure/extxyz/extxyz_columns.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;

Structure Room(int n) {
  Structure structure;
  structure.element.resize(n);
  structure.position.resize(3 * n);
  structure.force.resize(3 * n);
  return structure;
}

TEST(ExtxyzColumnsTest, RowGoesToItsAtom) {
  ExtxyzColumns columns;
  ASSERT_TRUE(columns.Set("pos:R:3:species:S:1:x:I:2:forces:R:3", "").ok());
  EXPECT_TRUE(columns.has_force());
  Structure structure = Room(2);
  ASSERT_TRUE(columns.ParseRow("1 2 3 O 7 8 4 5 6 ", 1, &structure));
  EXPECT_THAT(structure.element, ElementsAre(0, 8));
  EXPECT_THAT(structure.position, ElementsAre(0, 0, 0, 1, 2, 3));
  EXPECT_THAT(structure.force, ElementsAre(0, 0, 0, 4, 5, 6));
}

TEST(ExtxyzColumnsTest, ForcesUnderAGivenNameOrNone) {
  ExtxyzColumns columns;
  ASSERT_TRUE(columns.Set("species:S:1:pos:R:3:forces:R:3", "f").ok());
  EXPECT_FALSE(columns.has_force());
  ASSERT_TRUE(columns.Set("species:S:1:pos:R:3:forces:R:3", "").ok());
  EXPECT_TRUE(columns.has_force());
  columns.SetPlain();
  EXPECT_FALSE(columns.has_force());
  ASSERT_TRUE(columns.Set("species:S:1:pos:R:3:f:R:3", "f").ok());
  EXPECT_TRUE(columns.has_force());
}

TEST(ExtxyzColumnsTest, FindsForcesUnderOtherNamesThatDiffer) {
  ExtxyzColumns columns;
  EXPECT_EQ(columns.force_name(), "");
  ASSERT_TRUE(columns.Set("REF_forces:R:3:species:S:1:Forces:R:1:pos:R:3:forces:R:3:x:R:3:ref_forces:R:3", "").ok());
  EXPECT_EQ(columns.force_name(), "REF_forces");
  ASSERT_TRUE(columns.has_other_forces());
  const double force[] = {1, 2, 3};
  double other[3];
  EXPECT_EQ(columns.DifferingForce("1 2 3 O 9 0 0 0 1 2 3 7 7 7 1 2 3", force, other), "");
  EXPECT_EQ(columns.DifferingForce("1 2 3 O 9 0 0 0 1 2 3 7 7 7 1 2 4", force, other), "ref_forces");
  EXPECT_THAT(other, ElementsAre(1, 2, 4));
  EXPECT_EQ(columns.DifferingForce("1 2 x O 9 0 0 0 1 2 3 7 7 7 0 2 4", force, other), "ref_forces");
  EXPECT_EQ(columns.DifferingForce("1 2 3 O 9 0 0 0 5 2 3 7 7 7 0 2 4", force, other), "forces");
  // A given name is used, and without forces there is nothing to compare with.
  ASSERT_TRUE(columns.Set("species:S:1:pos:R:3:forces:R:3:REF_forces:R:3", "REF_forces").ok());
  EXPECT_FALSE(columns.has_other_forces());
  ASSERT_TRUE(columns.Set("species:S:1:pos:R:3:x:R:3", "").ok());
  EXPECT_FALSE(columns.has_other_forces());
  columns.SetPlain();
  EXPECT_FALSE(columns.has_other_forces());
}

TEST(ExtxyzColumnsTest, ColumnsThatCouldBeForces) {
  ExtxyzColumns columns;
  EXPECT_TRUE(columns.ForceCandidates().empty());
  ASSERT_TRUE(columns.Set("species:S:1:pos:R:3:vasp_forces:R:3:momenta:R:3:force_norm:R:1:Gradient:R:3", "").ok());
  EXPECT_THAT(columns.ForceCandidates(), ElementsAre("vasp_forces", "Gradient"));
  ASSERT_TRUE(columns.Set("species:S:1:pos:R:3:forces:R:3:my_forces:R:3", "my_forces").ok());
  EXPECT_THAT(columns.ForceCandidates(), ElementsAre("forces"));
}

TEST(ExtxyzColumnsTest, SetAfterAnErrorKeepsTheOldColumns) {
  ExtxyzColumns columns;
  EXPECT_FALSE(columns.Set("species:S:1", "").ok());
  Structure structure = Room(1);
  EXPECT_TRUE(columns.ParseRow("H 1 2 3 and more", 0, &structure));
}

TEST(ExtxyzColumnsTest, DiagnoseNamesTheColumn) {
  ExtxyzColumns columns;
  ASSERT_TRUE(columns.Set("species:S:1:pos:R:3", "").ok());
  Structure structure = Room(1);
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"H 1 2", {"row 1", "3 columns", "4"}},
      {"H 1 2 3 4", {"row 1", "5 columns", "4"}},
      {"H 1 2,0 3", {"row 1", "column 3", "pos", "'2,0'", "number"}},
      {"h 1 2 3", {"row 1", "column 1", "'h'", "element"}},
  };
  for (const auto& [row, facts] : cases) {
    EXPECT_FALSE(columns.ParseRow(row, 0, &structure));
    EXPECT_THAT(columns.Diagnose(row, "row 1"), ErrorNames(facts));
  }
}

}  // namespace
}  // namespace rutile
