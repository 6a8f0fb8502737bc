#include "lib/structure/structure_hash.h"

#include <cmath>
#include <string>

#include "gtest/gtest.h"

namespace rutile {
namespace {

Structure Dimer() {
  Structure structure;
  structure.name = "a#0";
  structure.element = {22, 8};
  structure.position = {0, 0, 0, 0, 0, 1.9};
  return structure;
}

TEST(StructureHashTest, NamesLabelsSignsOfZeroAndUnusedCellsDoNotCount) {
  const std::string hash = StructureHash(Dimer());
  EXPECT_TRUE(IsStructureHash(hash)) << hash;
  Structure other = Dimer();
  other.name = "b#7";
  other.energy = -5;
  other.force = {0, 0, 1, 0, 0, -1};
  other.info["config_type"] = "dimer";
  other.position[0] = -0.0;
  other.cell[0] = 9;  // not periodic
  EXPECT_EQ(StructureHash(other), hash);
}

TEST(StructureHashTest, ContentCounts) {
  const std::string hash = StructureHash(Dimer());
  Structure moved = Dimer(), exchanged = Dimer(), periodic = Dimer();
  moved.position[5] = std::nextafter(1.9, 2.0);
  exchanged.element = {8, 22};
  periodic.pbc[2] = true;
  EXPECT_NE(StructureHash(moved), hash);
  EXPECT_NE(StructureHash(exchanged), hash);
  EXPECT_NE(StructureHash(periodic), hash);
  Structure larger = periodic;
  larger.cell[8] = 5;
  EXPECT_NE(StructureHash(larger), StructureHash(periodic));
}

TEST(StructureHashTest, OtherWordsAreNoHashes) {
  for (const char* word : {"", "4f2a91c07be", "4f2a91c07be12", "4F2A91C07BE1", "a.extxyz#123", "000000000 12"}) {
    EXPECT_FALSE(IsStructureHash(word)) << word;
  }
  EXPECT_TRUE(IsStructureHash("4f2a91c07be1"));
}

}  // namespace
}  // namespace rutile
