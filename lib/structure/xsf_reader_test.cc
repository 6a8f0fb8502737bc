#include "lib/structure/xsf_reader.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/structure/read_text.h"
#include "lib/structure/structure.h"
#include "lib/structure/structure_reader.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;

constexpr char kVectors[] = "PRIMVEC\n4 0 0\n1 5 0\n0 0 6\n";

TEST(XsfReaderTest, AsAenetWritesIt) {
  const Structure s = Frame(
      "# total energy = -0.19543054070818E+03 eV\n\nCRYSTAL\nPRIMVEC\n    4.0 0.0 0.0\n 1 5 0\n 0 0 6.0\n"
      "PRIMCOORD\n 2 1\nTi     0.5 1 2    -1 -2 -3\nO -100 1 2 4 5 6\n");
  EXPECT_EQ(s.name, "f");
  EXPECT_EQ(s.energy, -195.43054070818);
  EXPECT_THAT(s.element, ElementsAre(22, 8));
  EXPECT_THAT(s.position, ElementsAre(0.5, 1, 2, -100, 1, 2));
  EXPECT_THAT(s.force, ElementsAre(-1, -2, -3, 4, 5, 6));
  EXPECT_THAT(s.cell, ElementsAre(4, 0, 0, 1, 5, 0, 0, 0, 6));
  EXPECT_THAT(s.pbc, ElementsAre(true, true, true));
  EXPECT_THAT(s.info, IsEmpty());
  EXPECT_FALSE(s.stress.has_value());
}

TEST(XsfReaderTest, IsolatedAtomsWithoutEnergyAndForces) {
  const Structure s = Frame("ATOMS\n8 0 0 0\n1 0 0 1\n 1 0 1 0");
  EXPECT_THAT(s.element, ElementsAre(8, 1, 1));
  EXPECT_THAT(s.position, ElementsAre(0, 0, 0, 0, 0, 1, 0, 1, 0));
  EXPECT_THAT(s.force, IsEmpty());
  EXPECT_FALSE(s.energy.has_value());
  EXPECT_THAT(s.pbc, ElementsAre(false, false, false));
  EXPECT_EQ(s.cell, Matrix3{});
}

// The format has Hartree/Angstrom, aenet eV/Angstrom: numbers for elements tell, and the user knows.
TEST(XsfReaderTest, UnitOfForces) {
  const auto text = [](absl::string_view element) {
    return absl::StrCat("# total energy = -1 eV\nCRYSTAL\n", kVectors, "PRIMCOORD\n1 1\n", element,
                        " 0 0 0 1 -2 0.5\n");
  };
  std::vector<std::string> warnings;
  StructureReaderOptions options;
  options.on_warning = [&](const std::string& message) { warnings.push_back(message); };
  EXPECT_THAT(Frame(text("O"), options).force, ElementsAre(1, -2, 0.5));
  EXPECT_THAT(warnings, IsEmpty());
  constexpr double kHartree = 27.211386245988;
  const auto in_hartree = ElementsAre(kHartree, -2 * kHartree, 0.5 * kHartree);
  EXPECT_THAT(Frame(text("8"), options).force, in_hartree);
  ASSERT_EQ(warnings.size(), 1);
  EXPECT_THAT(warnings[0], ::testing::AllOf(StartsWith("f: "), ::testing::HasSubstr("atomic numbers"),
                                            ::testing::HasSubstr("--xsf_forces=Hartree or eV")));
  options.xsf_forces = XsfForces::kHartree;
  EXPECT_THAT(Frame(text("O"), options).force, in_hartree);
  EXPECT_THAT(Frame(text("8"), options).force, in_hartree);
  options.xsf_forces = XsfForces::kEv;
  EXPECT_THAT(Frame(text("8"), options).force, ElementsAre(1, -2, 0.5));
  EXPECT_EQ(warnings.size(), 1);
}

// One warning for all frames of a file, and none where there are no forces.
TEST(XsfReaderTest, WarnsOnceOfTheUnitOfForces) {
  int warnings = 0;
  StructureReaderOptions options;
  options.on_warning = [&](const std::string&) { ++warnings; };
  Frames("ANIMSTEPS 2\nATOMS\n8 0 0 0 1 2 3\nATOMS\n8 0 0 0 1 2 3\n", options);
  EXPECT_EQ(warnings, 1);
  Frame("ATOMS\n8 0 0 0\n", options);
  EXPECT_EQ(warnings, 1);
  options.xsf_forces = XsfForces::kHartree;
  EXPECT_THAT(ReadError("ATOMS\n8 0 0 0 1e308 0 0\n", options), ::testing::HasSubstr("not finite"));
}

TEST(XsfReaderTest, PeriodicDirections) {
  const std::string coordinates = "PRIMCOORD\n1 1\nH 0 0 0\n";
  const auto pbc = [&](const std::string& head) { return Frame(absl::StrCat(head, kVectors, coordinates)).pbc; };
  EXPECT_THAT(pbc("CRYSTAL\n"), ElementsAre(true, true, true));
  EXPECT_THAT(pbc(""), ElementsAre(true, true, true));
  EXPECT_THAT(pbc("SLAB\n"), ElementsAre(true, true, false));
  EXPECT_THAT(pbc("POLYMER\n"), ElementsAre(true, false, false));
  EXPECT_THAT(pbc("MOLECULE\n"), ElementsAre(false, false, false));
  EXPECT_THAT(pbc("DIM-GROUP\n2 1\n"), ElementsAre(true, true, false));
  EXPECT_EQ(Frame("MOLECULE\nPRIMCOORD\n1 1\nH 0 0 0\n").cell, Matrix3{});
}

TEST(XsfReaderTest, CommentsAndBlankLinesAnywhere) {
  const Structure s = Frame(
      "#\n\n# config_type = rutile\nCRYSTAL\n# a\n\nPRIMVEC\n4 0 0\n\n# b\n0 5 0\n0 0 6\r\n\r\n"
      "PRIMCOORD\n# c\n2 1\nH 0 0 0\n\n   # d\nH 1 1 1\n\n# Total Energy = -2.5d0 EV\n#\n");
  EXPECT_EQ(s.size(), 2);
  EXPECT_EQ(s.energy, -2.5);
  EXPECT_THAT(s.info, ElementsAre(Pair("config_type", "rutile")));
}

TEST(XsfReaderTest, CohesiveEnergyIsMarked) {
  const Structure cohesive = Frame("# cohesive energy = -4 eV\nATOMS\nH 0 0 0\n");
  EXPECT_EQ(cohesive.energy, -4);
  EXPECT_THAT(cohesive.info, ElementsAre(Pair("energy_kind", "cohesive")));
  const Structure both = Frame("# cohesive energy = -4 eV\n# total energy = -9\nATOMS\nH 0 0 0\n");
  EXPECT_EQ(both.energy, -9);
  EXPECT_THAT(both.info, IsEmpty());
}

TEST(XsfReaderTest, EnergiesAsTheyAreWritten) {
  for (const char* comment :
       {"#\ttotal\tenergy\t=\t-5.5\teV", "# total energy: -5.5 eV", "# Energy = -5.5", "#energy:-5.5",
        "# PBE: total  energy = -5.5", "# cohesive energy = -4\n# energy = -5.5"}) {
    const Structure s = Frame(absl::StrCat(comment, "\nATOMS\nH 0 0 0\n"));
    EXPECT_EQ(s.energy, -5.5) << comment;
    EXPECT_THAT(s.info, IsEmpty()) << comment;
  }
  EXPECT_EQ(Frame("# energy = -4 eV\n# total energy = -9\nATOMS\nH 0 0 0\n").energy, -9);
  EXPECT_EQ(Frame("# made by: me\n# energy drift = 1\nATOMS\nH 0 0 0\n").energy, std::nullopt);
}

TEST(XsfReaderTest, WhatIsSkipped) {
  const Structure s = Frame(
      absl::StrCat("BEGIN_INFO\nanything PRIMCOORD\nEND_INFO\nCRYSTAL\n", kVectors,
                   "CONVVEC\n9 0 0\n0 9 0\n0 0 9\nPRIMCOORD 1\n1\nH 0 0 0\nCONVCOORD\n2 1\nH 0 0 0\nH 1 1 1\n"
                   "BEGIN_BLOCK_DATAGRID_3D\nx\nBEGIN_DATAGRID_3D_y\n1 1 1\nEND_DATAGRID_3D\nEND_BLOCK_DATAGRID_3D\n"));
  EXPECT_THAT(s.cell, ElementsAre(4, 0, 0, 1, 5, 0, 0, 0, 6));
  EXPECT_EQ(s.size(), 1);
}

TEST(XsfReaderTest, AnimationWithOneCell) {
  const std::vector<Structure> frames = Frames(absl::StrCat(
      "ANIMSTEPS 3\nCRYSTAL\n", kVectors,
      "# total energy = 1 eV\nPRIMCOORD 1\n2 1\nH 0 0 0 1 1 1\nH 1 0 0 1 1 1\n# total energy = 2 eV\n# k = v\n"
      "PRIMCOORD 2\n1 1\nO 0 0 1\nPRIMCOORD 3\n1 1\nH 0 0 2\n"));
  ASSERT_EQ(frames.size(), 3);
  EXPECT_EQ(frames[0].name, "f#0");
  EXPECT_EQ(frames[0].energy, 1);
  EXPECT_EQ(frames[0].force.size(), 6);
  EXPECT_EQ(frames[1].name, "f#1");
  EXPECT_EQ(frames[1].energy, 2);
  EXPECT_THAT(frames[1].element, ElementsAre(8));
  EXPECT_THAT(frames[1].force, IsEmpty());
  EXPECT_THAT(frames[1].info, ElementsAre(Pair("k", "v")));
  EXPECT_FALSE(frames[2].energy.has_value());
  EXPECT_EQ(frames[2].cell, frames[0].cell);
}

TEST(XsfReaderTest, AnimationWithCellsAndOfMolecules) {
  const std::vector<Structure> cells = Frames(
      "ANIMSTEPS 2\nCRYSTAL\nPRIMVEC 1\n1 0 0\n0 1 0\n0 0 1\nPRIMCOORD 1\n1 1\nH 0 0 0\n"
      "PRIMVEC 2\n2 0 0\n0 2 0\n0 0 2\nPRIMCOORD 2\n1 1\nH 0 0 0\n");
  ASSERT_EQ(cells.size(), 2);
  EXPECT_EQ(cells[0].cell[0], 1);
  EXPECT_EQ(cells[1].cell[0], 2);
  const std::vector<Structure> molecules = Frames(
      "ANIMSTEPS 2\n# total energy = 1\nATOMS 1\nH 0 0 0\nH 1 0 0\n# total energy = 2\nATOMS 2\nH 0 0 3 1 1 1\n");
  ASSERT_EQ(molecules.size(), 2);
  EXPECT_EQ(molecules[0].energy, 1);
  EXPECT_EQ(molecules[0].size(), 2);
  EXPECT_EQ(molecules[1].energy, 2);
  EXPECT_THAT(molecules[1].force, ElementsAre(1, 1, 1));
}

TEST(XsfReaderTest, Malformed) {
  const std::string crystal = absl::StrCat("CRYSTAL\n", kVectors);                           // 5 lines
  const std::string coordinates = absl::StrCat(crystal, "PRIMCOORD\n2 1\nH 0 0 0 1 2 3\n");  // 8 lines
  const std::vector<std::pair<std::string, std::string>> cases = {
      {coordinates + "H 1 2 3 4 5", "f:9: 6 columns in row 2 of 2 of PRIMCOORD, expected 4 (symbol x y z) or 7"},
      {coordinates + "H 1 2 3", "f:9: 4 columns in row 2 of 2 of PRIMCOORD, expected 7, as in the first row"},
      {coordinates + "H 1 2 x 0 0 0",
       "f:9: column 4: 'x' is not a number in row 2 of 2 of PRIMCOORD, expected a number in Angstrom"},
      {coordinates + "H 1 2 3 0 nan 0", "f:9: column 6: 'nan' is not finite in row 2 of 2"},
      {coordinates + "Q 1 2 3 0 0 0", "f:9: 'Q' is not an element in row 2 of 2 of PRIMCOORD"},
      {coordinates + "119 1 2 3 0 0 0", "f:9: '119' is not an element in row 2"},
      {coordinates, "f:8: the file ends after 1 of the 2 atoms that line 7 states; the file is cut off"},
      {coordinates + "H 1 2 3 4 5 6\nH 1 2 3 4 5 6\n", "f:10: 'H' behind the 2 atoms that line 7 states"},
      {coordinates + "H 1 2 3 4 5 6\nPRIMCOORD\n1 1\nH 0 0 0\n",
       "f:10: a second PRIMCOORD in a file without ANIMSTEPS"},
      {coordinates + "PRIMCOORD\n", "f:9: 1 column in row 2"},
      {crystal, "f:5: the file ends without PRIMCOORD or ATOMS"},
      {crystal + "PRIMCOORD\n", "f:6: the file ends behind PRIMCOORD"},
      {crystal + "PRIMCOORD\n0 1\n", "f:7: '0' atoms, expected a whole number from 1"},
      {crystal + "PRIMCOORD\n-3 1\n", "f:7: '-3' atoms"},
      {crystal + "PRIMCOORD\n99999999999999999999 1\n", "f:7: '99999999999999999999' atoms"},
      {crystal + "PRIMCOORD\nH 0 0 0\n", "f:7: 'H 0 0 0' behind PRIMCOORD, expected \"N 1\""},
      {crystal + "PRIMCOORD\n2000000000 1\nH 0 0 0\n", "f:8: the file ends after 1 of the 2000000000 atoms"},
      {"CRYSTAL\nPRIMCOORD\n1 1\nH 0 0 0\n", "f:2: PRIMCOORD without PRIMVEC before it"},
      {"CRYSTAL\nPRIMVEC\n1 0 0\n0 1 0\n", "f:4: the file ends after 2 of the 3 vectors of PRIMVEC"},
      {"CRYSTAL\nPRIMVEC\n1 0 0\n0 1\n", "f:4: 2 columns, expected vector 2 of PRIMVEC"},
      {"CRYSTAL\nPRIMVEC\n1 0 0\n0 y 0\n", "f:4: 'y' is not a number, expected vector 2"},
      {"PRIMVEC\n1 0 0\n0 1 0\n1 1 0\nPRIMCOORD\n1 1\nH 0 0 0\n", "f:2: the cell is singular"},
      {"ATOMS\n", "f:1: no atoms behind ATOMS"},
      {"ATOMS\nH 0 0\n", "f:2: 3 columns in row 1 of ATOMS"},
      {"ATOMS\nH 0 0 0\nfoo 1 2 3\n", "f:3: 'foo' is not an element in row 2 of ATOMS"},
      {"CRYSTAL\nfoo\n", "f:2: 'foo', expected a keyword of XSF"},
      {"# total energy = x eV\nATOMS\nH 0 0 0\n", "f:1: total energy: 'x' is not a number"},
      {"# total energy = nan eV\nATOMS\nH 0 0 0\n", "f:1: total energy: 'nan' is not finite"},
      {"# total energy = 1 Ha\nATOMS\nH 0 0 0\n", "f:1: total energy in 'Ha', expected eV"},
      {"# total energy = 1 eV\n# total energy = 1 eV\nATOMS\nH 0 0 0\n", "f:2: a second total energy"},
      {"# total energy = 1 eV\nATOMS\nH 0 0 0\n# total energy = 1 eV\nATOMS\nH 0 0 0\n",
       "f:4: a second total energy after the atoms of a structure, expected one structure in a file: several XSF"},
      {"ATOMS\n# total energy = 1 Ry\nH 0 0 0\n", "f:2: total energy in 'Ry'"},
      {"CRYSTAL\nPRIMVEC\n# total energy = 1 Ry\n1 0 0\n", "f:3: total energy in 'Ry'"},
      {"ANIMSTEPS 0\n", "f:1: ANIMSTEPS ' 0'"},
      {"ANIMSTEPS 3\nATOMS 1\nH 0 0 0\nATOMS 2\nH 0 0 0\n", "f:5: the file ends after 2 of the 3 structures"},
      {"ANIMSTEPS 1\nATOMS 1\nH 0 0 0\nATOMS 2\nH 0 0 0\n", "f:4: a structure behind the 1 that ANIMSTEPS states"},
      {"DIM-GROUP\n4 1\n", "f:2: DIM-GROUP '4 1'"},
      {"BEGIN_INFO\nCRYSTAL\n", "f:2: the file ends within a block, expected END_INFO"},
      {"ATOMS\nH 0 0 0\nBEGIN_BLOCK_X\n", "f:3: the file ends within a block, expected END_BLOCK_X"},
  };
  for (const auto& [text, message] : cases) EXPECT_THAT(ReadError(text), StartsWith(message)) << text;
}

}  // namespace
}  // namespace rutile
