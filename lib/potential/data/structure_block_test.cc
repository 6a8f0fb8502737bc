#include "lib/potential/data/structure_block.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/interrupt.h"

namespace rutile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

absl::StatusOr<AtomicBlock> Read(const std::string& text, const std::string& weight_key = "") {
  StructureBlockOptions options;
  options.species = {22, 8};
  options.config_key = "group";
  options.weight_key = weight_key;
  return BlockFromStructures(LineReader::FromBytes("x.extxyz", text), options);
}

std::string ErrorOf(const std::string& text, const std::string& weight_key = "") {
  return std::string(Read(text, weight_key).status().message());
}

TEST(StructureBlockTest, Columns) {
  const auto block = Read(
      "2\nLattice=\"3 0 0 0 3 0 0 0 3\" Properties=species:S:1:pos:R:3 energy=-1 group=b\nO 0 0 0\nTi 1 1 1\n"
      "1\nProperties=species:S:1:pos:R:3:forces:R:3 group=a\nO 7 8 9 1 2 3\n"
      "1\nProperties=species:S:1:pos:R:3 group=b\nTi 0 0 0\n");
  ASSERT_TRUE(block.ok()) << block.status();
  EXPECT_EQ(block->num_structures(), 3);
  EXPECT_THAT(block->atom_offset, ElementsAre(0, 2, 3, 4));
  EXPECT_THAT(block->species, ElementsAre(1, 0, 1, 0));
  EXPECT_THAT(block->config_types, ElementsAre("b", "a"));
  EXPECT_THAT(block->config, ElementsAre(0, 1, 0));
  EXPECT_THAT(block->has_energy, ElementsAre(true, false, false));
  EXPECT_THAT(block->has_force, ElementsAre(false, true, false));
  EXPECT_THAT(block->has_stress, ElementsAre(false, false, false));
  EXPECT_THAT(block->pbc, ElementsAre(true, true, true, false, false, false, false, false, false));
  ASSERT_EQ(block->force.size(), 12);
  EXPECT_TRUE(std::isnan(block->force[0]));
  EXPECT_EQ(block->force[8], 3);
  EXPECT_TRUE(std::isnan(block->force[11]));
  EXPECT_EQ(block->stress.size(), 27);
  EXPECT_EQ(block->cell.size(), 27);
  EXPECT_THAT(block->weight, IsEmpty());
  EXPECT_EQ(block->names[1], "x.extxyz#1");
}

TEST(StructureBlockTest, Weights) {
  const std::string frames =
      "1\nProperties=species:S:1:pos:R:3 w=0.5\nO 0 0 0\n1\nProperties=species:S:1:pos:R:3\nO 0 0 0\n";
  EXPECT_THAT(Read(frames, "w")->weight, ElementsAre(0.5, 1));
  EXPECT_THAT(Read(frames, "v")->weight, IsEmpty());
  for (const char* bad : {"-1", "nan", "inf", "x", "1e999"}) {
    EXPECT_THAT(ErrorOf(std::string("1\nProperties=species:S:1:pos:R:3 w=") + bad + "\nO 0 0 0\n", "w"),
                AllOf(HasSubstr("x.extxyz"), HasSubstr("w=")))
        << bad;
  }
}

TEST(StructureBlockTest, ErrorsSayWhere) {
  EXPECT_THAT(ErrorOf("1\nProperties=species:S:1:pos:R:3:forces:R:3\nO 0 0 0 0 nan 0\n"),
              AllOf(HasSubstr("x.extxyz:3"), HasSubstr("nan")));
  EXPECT_THAT(ErrorOf("1\nProperties=species:S:1:pos:R:3:forces:R:3\nO 0 0 0 0 1\n"),
              AllOf(HasSubstr("x.extxyz:3"), HasSubstr("column")));
  EXPECT_THAT(ErrorOf("1\nProperties=species:S:1:pos:R:3\nU 0 0 0\n"), AllOf(HasSubstr("U"), HasSubstr("Ti,O")));
  EXPECT_THAT(ErrorOf(""), HasSubstr("empty"));
  SetInterruptForTest(15);
  EXPECT_TRUE(absl::IsCancelled(Read("1\nProperties=species:S:1:pos:R:3\nO 0 0 0\n").status()));
  SetInterruptForTest(0);
}

}  // namespace
}  // namespace rutile
