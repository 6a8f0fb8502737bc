#include "lib/structure/extxyz/extxyz_reader.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/structure/extxyz/extxyz_keys.h"
#include "lib/structure/read_text.h"
#include "lib/structure/structure.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;

constexpr char kCell[] = "Lattice=\"4 0 0 1 5 0 0 0 6\" ";
constexpr char kRow[] = "Ti 1 2 3\n";

// A frame of one atom; `comment` may contain the Lattice.
std::string One(const std::string& comment) { return absl::StrCat("1\n", comment, "\n", kRow); }

TEST(ExtxyzReaderTest, FrameWithEverything) {
  const Structure s = Frame(
      "2\nLattice=\"4 0 0 1 5 0 0 0 6\" Properties=species:S:1:pos:R:3:forces:R:3 energy=-12.5 "
      "stress=\"1 2 3 2 4 5 3 5 6\" pbc=\"T T F\" config_type=rutile\n"
      "Ti 0.5 -1.25 3e1 1 2 3\nO  +.5\t0 -0 -1 -2 -3D0\n");
  EXPECT_EQ(s.name, "f");
  EXPECT_THAT(s.element, ElementsAre(22, 8));
  EXPECT_THAT(s.position, ElementsAre(0.5, -1.25, 30, 0.5, 0, 0));
  EXPECT_THAT(s.force, ElementsAre(1, 2, 3, -1, -2, -3));
  EXPECT_THAT(s.cell, ElementsAre(4, 0, 0, 1, 5, 0, 0, 0, 6));
  EXPECT_THAT(s.pbc, ElementsAre(true, true, false));
  EXPECT_EQ(s.energy, -12.5);
  EXPECT_THAT(*s.stress, ElementsAre(1, 2, 3, 2, 4, 5, 3, 5, 6));
  EXPECT_THAT(s.info, ElementsAre(Pair("config_type", "rutile")));
}

TEST(ExtxyzReaderTest, WhatIsMissingIsMissing) {
  const Structure s = Frame(One("Properties=species:S:1:pos:R:3"));
  EXPECT_FALSE(s.energy.has_value());
  EXPECT_FALSE(s.stress.has_value());
  EXPECT_THAT(s.force, IsEmpty());
  EXPECT_THAT(s.info, IsEmpty());
  EXPECT_THAT(s.pbc, ElementsAre(false, false, false));
  EXPECT_EQ(s.cell, Matrix3{});
}

TEST(ExtxyzReaderTest, ColumnsInAnyOrderWithOthersBetween) {
  const Structure s = Frame(
      "1\nProperties=id:I:1:forces:R:3:tag:S:1:pos:R:3:move:L:2:species:S:1:charge:R:1\n"
      "17 1 2 3 x 4 5 6 T F Cu nan\n");
  EXPECT_THAT(s.element, ElementsAre(29));
  EXPECT_THAT(s.position, ElementsAre(4, 5, 6));
  EXPECT_THAT(s.force, ElementsAre(1, 2, 3));
}

TEST(ExtxyzReaderTest, AtomicNumbersInsteadOfSymbols) {
  EXPECT_THAT(Frame("1\nProperties=Z:I:1:pos:R:3\n22 1 2 3\n").element, ElementsAre(22));
  EXPECT_THAT(Frame("1\nProperties=Z:I:1:pos:R:3:species:S:1\n22 1 2 3 O\n").element, ElementsAre(8));
}

TEST(ExtxyzReaderTest, PlainXyz) {
  const Structure s = Frame("2\n water, not all of it\nO 0 0 0\nH 1 0 0 0.1 0.2 0.3\n");
  EXPECT_THAT(s.element, ElementsAre(8, 1));
  EXPECT_THAT(s.force, IsEmpty());
  EXPECT_THAT(s.info, ElementsAre(Pair("comment", "water, not all of it")));
  EXPECT_THAT(Frame(One("")).info, IsEmpty());
  // Free text with quotes and = is no list of pairs.
  EXPECT_THAT(Frame(One("E = 3 of \"that")).info, ElementsAre(Pair("comment", "E = 3 of \"that")));
  EXPECT_EQ(Frame(One("energy=-1 step=3")).energy, -1);
  EXPECT_THAT(Frame(One("Lattice=\"3 0 0 0 3 0 0 0 3\"")).pbc, ElementsAre(true, true, true));
}

TEST(ExtxyzReaderTest, FormsOfPbc) {
  for (const char* pbc : {"pbc=\"T F T\"", "pbc=[T, F, T]", "pbc=\"1 0 1\"", "pbc='true false true'", "pbc={T F T}",
                          "pbc=\"True False True\"", "pbc = \"T F T\"", "PBC=TFT", "pbc=[true,false,true]"}) {
    EXPECT_THAT(Frame(One(absl::StrCat(kCell, pbc))).pbc, ElementsAre(true, false, true)) << pbc;
  }
  EXPECT_THAT(Frame(One(absl::StrCat(kCell, "pbc=F"))).pbc, ElementsAre(false, false, false));
  EXPECT_THAT(Frame(One(kCell)).pbc, ElementsAre(true, true, true));
  EXPECT_THAT(Frame(One("pbc=\"F F F\"")).pbc, ElementsAre(false, false, false));
}

TEST(ExtxyzReaderTest, FormsOfLattice) {
  for (const char* lattice :
       {"Lattice=\"4 0 0 1 5 0 0 0 6\"", "Lattice='4 0 0 1 5 0 0 0 6'", "Lattice={4 0 0 1 5 0 0 0 6}",
        "Lattice=[4, 0, 0, 1, 5, 0, 0, 0, 6]", "lattice = \"4. 0. 0. 1. 5. 0. 0. 0. 6.\""}) {
    EXPECT_THAT(Frame(One(lattice)).cell, ElementsAre(4, 0, 0, 1, 5, 0, 0, 0, 6)) << lattice;
  }
  EXPECT_THAT(Frame(One("Lattice=[[4,0,0],[0,5,0],[0,0,6]]")).cell, ElementsAre(4, 0, 0, 0, 5, 0, 0, 0, 6));
  // A direction that is not periodic needs no vector.
  EXPECT_THAT(Frame(One("Lattice=\"4 0 0 1 5 0 0 0 0\" pbc=\"T T F\"")).pbc, ElementsAre(true, true, false));
}

TEST(ExtxyzReaderTest, DefaultNamesInTheirOrder) {
  for (absl::string_view key : kEnergyKeys) {
    EXPECT_EQ(Frame(One(absl::StrCat(key, "=-3.5"))).energy, -3.5) << key;
  }
  for (absl::string_view key : kForceKeys) {
    EXPECT_THAT(Frame(absl::StrCat("1\nProperties=species:S:1:pos:R:3:", key, ":R:3\nO 0 0 0 1 2 3\n")).force,
                ElementsAre(1, 2, 3))
        << key;
  }
  for (absl::string_view key : kStressKeys) {
    EXPECT_TRUE(Frame(One(absl::StrCat(kCell, key, "=\"1 2 3 4 5 6\""))).stress.has_value()) << key;
  }
  for (absl::string_view key : kVirialKeys) {
    EXPECT_TRUE(Frame(One(absl::StrCat(kCell, key, "=\"1 2 3 4 5 6\""))).stress.has_value()) << key;
  }
  const Structure s =
      Frame("1\nREF_energy=2 energy=1 Properties=species:S:1:pos:R:3:REF_forces:R:3:forces:R:3\nO 0 0 0 4 5 6 1 2 3\n");
  EXPECT_EQ(s.energy, 2);
  EXPECT_EQ(s.energy_key, "REF_energy");
  EXPECT_THAT(s.force, ElementsAre(4, 5, 6));
  EXPECT_EQ(s.force_key, "REF_forces");
  EXPECT_THAT(s.info, ElementsAre(Pair("energy", "1")));
}

TEST(ExtxyzReaderTest, ConfiguredNames) {
  StructureReaderOptions options;
  options.energy_key = "my energy";
  options.force_key = "f";
  options.stress_key = "s";
  options.virial_key = "v";
  const Structure s = Frame(absl::StrCat("1\n", kCell,
                                         "\"my energy\"=7 energy=1 stress=\"9 9 9 9 9 9\" v=\"-120 0 0 0 0 0\" "
                                         "Properties=species:S:1:pos:R:3:forces:R:3:f:R:3\nO 0 0 0 1 2 3 4 5 6\n"),
                            options);
  EXPECT_EQ(s.energy, 7);
  EXPECT_THAT(s.force, ElementsAre(4, 5, 6));
  EXPECT_THAT(*s.stress, ElementsAre(1, 0, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(s.info, ElementsAre(Pair("energy", "1"), Pair("stress", "9 9 9 9 9 9")));
  const Structure none = Frame("1\nenergy=1 Properties=species:S:1:pos:R:3:forces:R:3\nO 0 0 0 1 2 3\n", options);
  EXPECT_FALSE(none.energy.has_value());
  EXPECT_THAT(none.force, IsEmpty());
}

TEST(ExtxyzReaderTest, StressAndVirial) {
  // Six numbers: xx yy zz yz xz xy.
  EXPECT_THAT(*Frame(One(absl::StrCat(kCell, "stress=\"1 2 3 4 5 6\""))).stress,
              ElementsAre(1, 6, 5, 6, 2, 4, 5, 4, 3));
  EXPECT_THAT(*Frame(One(absl::StrCat(kCell, "stress=[[1, 6, 5], [6, 2, 4], [5, 4, 3]]"))).stress,
              ElementsAre(1, 6, 5, 6, 2, 4, 5, 4, 3));
  // The volume is 120, also for a left-handed cell; tension has a negative virial.
  EXPECT_THAT(*Frame(One(absl::StrCat(kCell, "virial=\"-120 0 0 0 -240 0 0 0 120\""))).stress,
              ElementsAre(1, 0, 0, 0, 2, 0, 0, 0, -1));
  EXPECT_THAT((*Frame(One("Lattice=\"0 0 6 1 5 0 4 0 0\" virials=\"-120 0 0 0 -240 0 0 0 120\"")).stress)[4], 2);
  // A stress takes precedence over a virial.
  const Structure both = Frame(One(absl::StrCat(kCell, "virial=\"9 9 9 9 9 9\" stress=\"1 1 1 0 0 0\"")));
  EXPECT_THAT(*both.stress, ElementsAre(1, 0, 0, 0, 1, 0, 0, 0, 1));
  EXPECT_THAT(both.info, ElementsAre(Pair("virial", "9 9 9 9 9 9")));
  // Noise is averaged away.
  EXPECT_THAT(*Frame(One(absl::StrCat(kCell, "stress=\"1 0.25 0 0.2499 1 0 0 0 1\""))).stress,
              ElementsAre(1, 0.24995, 0, 0.24995, 1, 0, 0, 0, 1));
  // Without a volume neither has a meaning.
  const Structure isolated = Frame(One("stress=\"0 0 0 0 0 0\" virial=\"x\""));
  EXPECT_FALSE(isolated.stress.has_value());
  EXPECT_THAT(isolated.info, ElementsAre(Pair("stress", "0 0 0 0 0 0"), Pair("virial", "x")));
}

TEST(ExtxyzReaderTest, SeveralFramesWithDifferentKeysAndColumns) {
  const std::vector<Structure> frames = Frames(
      "\n2\nLattice=\"4 0 0 1 5 0 0 0 6\" energy=1 a=b Properties=species:S:1:pos:R:3:forces:R:3\n"
      "O 0 0 0 1 1 1\nO 1 1 1 2 2 2\n"
      "1\nplain\nH 5 5 5\n\n\r\n"
      "3\nenergy=3 c=d Properties=species:S:1:pos:R:3:forces:R:3\nC 0 0 1 1 1 1\nC 0 0 2 1 1 1\nC 0 0 3 1 1 1\n\n");
  ASSERT_EQ(frames.size(), 3);
  EXPECT_EQ(frames[0].name, "f#0");
  EXPECT_EQ(frames[2].name, "f#2");
  EXPECT_EQ(frames[0].info.at("a"), "b");
  EXPECT_EQ(frames[1].size(), 1);
  EXPECT_THAT(frames[1].force, IsEmpty());
  EXPECT_FALSE(frames[1].energy.has_value());
  EXPECT_THAT(frames[1].info, ElementsAre(Pair("comment", "plain")));
  EXPECT_THAT(frames[1].pbc, ElementsAre(false, false, false));
  EXPECT_THAT(frames[2].position, ElementsAre(0, 0, 1, 0, 0, 2, 0, 0, 3));
  EXPECT_EQ(frames[2].force.size(), 9);
  EXPECT_THAT(frames[2].info, ElementsAre(Pair("c", "d")));
}

TEST(ExtxyzReaderTest, LineEnds) {
  const Structure s = Frame("2\r\nenergy=-1 k=v\r\nO 0 0 0\r\nH 1 2 3");
  EXPECT_EQ(s.energy, -1);
  EXPECT_EQ(s.info.at("k"), "v");
  EXPECT_THAT(s.position, ElementsAre(0, 0, 0, 1, 2, 3));
}

TEST(ExtxyzReaderTest, KeysAndValues) {
  const Structure s = Frame(One(
      "a=1 b=\"two words\" c='it is \"so\"' \"d e\"=f g h={1 {2} 3} i=[1, [2]] j=\"q\\\"\\n\\\\\" k= l m=\"\" n=x=y"));
  EXPECT_THAT(s.info, ElementsAre(Pair("a", "1"), Pair("b", "two words"), Pair("c", "it is \"so\""), Pair("d e", "f"),
                                  Pair("g", "T"), Pair("h", "1 {2} 3"), Pair("i", "[1, [2]]"), Pair("j", "q\"\n\\"),
                                  Pair("k", "l"), Pair("m", ""), Pair("n", "x=y")));
  EXPECT_THAT(Frame(One("a=1 a=2")).info, ElementsAre(Pair("a", "2")));
}

TEST(ExtxyzReaderTest, AtomsOutsideTheCellStayThere) {
  EXPECT_THAT(Frame(absl::StrCat("1\n", kCell, "\nO -7 100 1e5\n")).position, ElementsAre(-7, 100, 1e5));
}

TEST(ExtxyzReaderTest, Malformed) {
  const char* const p = "Properties=species:S:1:pos:R:3:forces:R:3";
  const std::string good = absl::StrCat("1\n", p, "\nO 0 0 0 0 0 0\n");
  const auto row = [&](absl::string_view text) { return absl::StrCat(good, "2\n", p, "\nO 0 0 0 0 0 0\n", text); };
  const std::vector<std::pair<std::string, std::string>> cases = {
      {row("O 0 0 0 0 0"),
       "f:7: 6 columns in row 2 of 2, expected 7 (species:S:1:pos:R:3:forces:R:3); correct the row, or the number of "
       "atoms in line 4"},
      {row("O 0 0 0 0 0 0 0\n"), "f:7: 8 columns in row 2 of 2, expected 7"},
      {row("\n"), "f:7: 0 columns"},
      {row("3\n"), "f:7: 1 column in row 2 of 2, expected 7"},
      {row("O 0 x 0 0 0 0\n"), "f:7: column 3 (pos): 'x' is not a number in row 2 of 2, expected a number in Angstrom"},
      {row("O 0 0 1.0.0 0 0 0\n"), "f:7: column 4 (pos): '1.0.0' is not a number"},
      {row("O 0 0 0 0 nan 0\n"), "f:7: column 6 (forces): 'nan' is not finite"},
      {row("O 0 -Inf 0 0 0 0\n"), "f:7: column 3 (pos): '-Inf' is not finite"},
      {row("O 0 0 0 1e999 0 0\n"), "f:7: column 5 (forces): '1e999' is too large"},
      {row("Xx 0 0 0 0 0 0\n"), "f:7: column 1: 'Xx' is not an element"},
      {row("O\x01\xff 0 0 0 0 0 0\n"), "f:7: column 1: 'O\\x01\\xff' is not an element"},
      {row(""), "f:6: the file ends after 1 of the 2 atoms that line 4 states; the file is cut off"},
      {good + "1\n", "f:4: the file ends behind the number of atoms"},
      {good + "O 0 0 0 0 0 0\n", "f:4: 'O 0 0 0 0 0 0', expected the number of atoms of a frame behind the 1 atoms"},
      {good + "-1\n\n", "f:4: '-1' atoms, expected a whole number from 1"},
      {good + "0\n\n", "f:4: '0' atoms"},
      {good + "99999999999\n\n", "f:4: '99999999999' atoms"},
      {good + "1.5\n\n", "f:4: '1.5', expected the number of atoms"},
      {"2147483647\n\nO 0 0 0\n", "f:3: the file ends after 1 of the 2147483647 atoms"},
      {One("energy=abc"), "f:2: energy: 'abc' is not a number, expected an energy in eV"},
      {One("energy=nan"), "f:2: energy: 'nan' is not finite"},
      {One("energy=\"\""), "f:2: energy: nothing where a number should be"},
      {One("energy=1 energy=1"), "f:2: 'energy' stands twice"},
      {One("Lattice=\"1 2 3\""), "f:2: Lattice: 3 numbers, expected 9"},
      {One("Lattice=\"1 0 0 0 1 0 0 0 1 0\""), "f:2: Lattice: more than 9 numbers"},
      {One("Lattice=\"1 0 0 0 1 0 0 0 inf\""), "f:2: Lattice: 'inf' is not finite"},
      {One("Lattice=[[1,0,0],[1,1,0],[0,0,1]]"), "f:2: Lattice is a list of lists"},
      {One("Lattice=\"1 0 0 0 1 0 0 0"), "f:2: '\"1 0 0 0 1 0 0 0' has no closing quote"},
      {One("Lattice=\"1 0 0 0 1 0 1 1 0\""), "f:2: the cell is singular"},
      {One("Lattice=\"1 0 0 0 1 0 0 0 0\""), "f:2: lattice vector 3 is 0 Angstrom long but periodic"},
      {One("Lattice=\"1e-9 0 0 0 1 0 0 0 1\""), "f:2: lattice vector 1 is"},
      {One("Lattice=\"1e300 0 0 0 1e300 0 1e300 1e300 1e290\""), "f:2: the cell is singular"},
      {One("Lattice=\"3 0 0 3 0 1e-9 0 3 0\" pbc=\"T T F\""), "f:2: the cell is singular"},
      {One("pbc=\"T T T\""), "f:2: pbc is 'T T T' but there is no Lattice"},
      {One("pbc=\"T T\""), "f:2: pbc is 'T T', expected three of T and F"},
      {One("pbc=\"T T x\""), "f:2: pbc is 'T T x'"},
      {One("Properties=species:S:1"), "f:2: Properties is 'species:S:1', which has no pos:R:3"},
      {One("Properties=pos:R:3"), "f:2: Properties is 'pos:R:3', which has no species:S:1"},
      {One("Properties=species:S:1:pos:R"), "f:2: Properties is 'species:S:1:pos:R', expected triples"},
      {One("Properties=species:S:1:pos:R:2"), "f:2: Properties has pos:R:2, expected pos:R:3"},
      {One("Properties=species:S:1:pos:S:3"), "f:2: Properties has pos:S:3"},
      {One("Properties=species:S:1:pos:R:3:pos:R:3"), "f:2: Properties has 'pos' twice"},
      {One("Properties=species:S:1:pos:R:3:forces:R:1"), "f:2: Properties has forces:R:1"},
      {One("Properties=species:S:1:pos:R:3:x:Q:1"), "f:2: Properties has 'x:Q:1'"},
      {One("Properties=species:S:1:pos:R:3:x:R:0"), "f:2: Properties has 'x:R:0'"},
      {One("Properties=species:S:1:pos:R:3:x:R:99999999999"), "f:2: Properties has 'x:R:99999999999'"},
      {One("Properties=species:S:1:pos:R:3:x:R:1000000"), "f:3: 4 columns in row 1 of 1, expected 1000004"},
      {One("Properties=species:S:1:pos:R:3 a= "), "f:2: no value behind 'a'"},
      {One("=1 Properties=species:S:1:pos:R:3"), "f:2: no key before"},
      {One(absl::StrCat(kCell, "stress=\"1 2 3\"")), "f:2: stress: 3 numbers, expected 9 numbers (3x3) or 6"},
      {One(absl::StrCat(kCell, "stress=\"1 2 3 4 5 x\"")), "f:2: stress: 'x' is not a number"},
      {One(absl::StrCat(kCell, "stress=\"1 2 0 3 1 0 0 0 1\"")), "f:2: stress is not symmetric (2 and 3)"},
      {One("Lattice=\"1e-2 0 0 0 1e-2 0 0 0 1e-2\" virial=\"1e308 0 0 0 0 0\""), "f:2: virial over the volume"},
  };
  for (const auto& [text, message] : cases) EXPECT_THAT(ReadError(text), StartsWith(message)) << text;
}

TEST(ExtxyzReaderTest, FramesBeforeAnErrorAreGiven) {
  const ReadText read("1\n\nO 0 0 0\n1\n\nO 0 0\n");
  EXPECT_EQ(read.frames.size(), 1);
  EXPECT_THAT(read.error, StartsWith("f:6: 3 columns"));
}

// ---- Quantities that a frame gives twice.

// Returns the warnings of the reader.
std::vector<std::string> Warnings(const std::string& text, StructureReaderOptions options = {}) {
  std::vector<std::string> warnings;
  options.on_warning = [&](const std::string& message) { warnings.push_back(message); };
  Frames(text, options);
  return warnings;
}

TEST(ExtxyzReaderTest, WarnsOfColumnsWithoutNames) {
  const std::string seven = "1\nenergy=-1\nH 0 0 0 1 2 3\n", plain = "1\nenergy=-1\nH 0 0 0\n";
  EXPECT_THAT(Warnings(plain), IsEmpty());
  EXPECT_THAT(Warnings("1\nProperties=species:S:1:pos:R:3:x:R:3\nH 0 0 0 1 2 3\n"), IsEmpty());
  const std::vector<std::string> found = Warnings(plain + seven + seven);
  ASSERT_EQ(found.size(), 1);
  EXPECT_THAT(found[0], StartsWith("f:6: 7 columns without Properties, in 2 of 3 frames"));
  EXPECT_THAT(found[0], HasSubstr("Properties=species:S:1:pos:R:3:forces:R:3"));
  EXPECT_THAT(Warnings("1\ncharges\nH 0 0 0 0.1\n"), ElementsAre(StartsWith("f:3: 5 columns without Properties")));
}

TEST(ExtxyzReaderTest, WarnsOfEnergiesThatDiffer) {
  const std::string twice = One("REF_energy=-2.5 energy=-1.5");
  EXPECT_EQ(Frame(twice).energy, -2.5);
  EXPECT_THAT(Warnings(One("energy=-1") + twice + One("REF_energy=-1.5") + twice),
              ElementsAre("f:5: REF_energy=-2.5, but energy=-1.5, in 2 of 4 frames, this first; the former is used, "
                          "--energy_key=energy chooses the latter"));
  EXPECT_THAT(Warnings(One("energy=-1.5 Energy=-1.50 REF_energy=-2 DFT_energy=3")),
              ElementsAre("f:2: REF_energy=-2, but DFT_energy=3, in this one of 1 frames; the former is used, "
                          "--energy_key=DFT_energy chooses the latter"));
  // No warning for an equal value, one with fewer digits, another quantity, no number, or a chosen key.
  EXPECT_THAT(Warnings(One("energy=-1.5 REF_energy=-1.50")), IsEmpty());
  EXPECT_THAT(Warnings(One("energy=-1.234567890123 REF_energy=-1.234568")), IsEmpty());
  EXPECT_THAT(Warnings(One("energy=-1.5 free_energy=-1.6")), IsEmpty());
  EXPECT_THAT(Warnings(One("energy=-1.5 Energy=none")), IsEmpty());
  EXPECT_EQ(Warnings(One("free_energy=-1.5 DFT_free_energy=-1.6")).size(), 1);
  StructureReaderOptions options;
  options.energy_key = "energy";
  EXPECT_THAT(Warnings(twice, options), IsEmpty());
  EXPECT_EQ(Frame(twice, options).energy, -1.5);
}

TEST(ExtxyzReaderTest, WarnsOfLabelsUnderOtherNames) {
  const auto frame = [](absl::string_view column) {
    return absl::StrCat("1\nenergy=-1 Properties=species:S:1:pos:R:3:", column, ":R:3\nO 0 0 0 1 2 3\n");
  };
  EXPECT_THAT(Warnings(frame("forces") + frame("momenta")), IsEmpty());
  EXPECT_THAT(Warnings(frame("forces") + frame("vasp_forces") + frame("vasp_forces")),
              ElementsAre("f: 2 of 3 frames have no forces under the usual names, but columns of three numbers of "
                          "similar names: vasp_forces in 2; --force_key=vasp_forces reads that"));
  EXPECT_THAT(Warnings(One("my_energy=-1") + One("energy_note=low") + One("energy=-1 my_energy=-2")),
              ElementsAre("f: 2 of 3 frames have no energy under the usual names, but keys of similar names: my_energy "
                          "in 1; --energy_key=my_energy reads that"));
  StructureReaderOptions options;
  options.energy_key = "E";
  EXPECT_THAT(
      Warnings(One("energy=-1 dft_energy=-1"), options),
      ElementsAre("f: 1 of 1 frames have no energy named E, as --energy_key asks for, but keys of similar names: "
                  "dft_energy in 1, energy in 1; --energy_key=dft_energy reads that"));
}

// Names under which a model's training data were read come before the usual ones, where a frame has them.
TEST(ExtxyzReaderTest, RecordedNames) {
  StructureReaderOptions options;
  options.recorded = {"E", "f", "", "v"};
  const std::string both = absl::StrCat("1\n", kCell,
                                        "E=7 REF_energy=1 stress=\"9 9 9 9 9 9\" v=\"-120 0 0 0 0 0\" "
                                        "Properties=species:S:1:pos:R:3:forces:R:3:f:R:3\nO 0 0 0 1 2 3 4 5 6\n");
  const Structure s = Frame(both, options);
  EXPECT_EQ(s.energy, 7);
  EXPECT_EQ(s.energy_key, "E");
  EXPECT_THAT(s.force, ElementsAre(4, 5, 6));
  EXPECT_THAT(*s.stress, ElementsAre(1, 0, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(s.info, ElementsAre(Pair("REF_energy", "1"), Pair("stress", "9 9 9 9 9 9")));
  EXPECT_THAT(Warnings(both, options),
              ElementsAre(HasSubstr("E=7, but REF_energy=1"), HasSubstr("f=(4 5 6), but forces=(1 2 3)")));
  const std::string usual = absl::StrCat("1\n", kCell,
                                         "energy=1 stress=\"9 9 9 0 0 0\" Properties=species:S:1:pos:R:3:forces:R:3\n"
                                         "O 0 0 0 1 2 3\n");
  EXPECT_EQ(Frame(usual, options).energy, 1);
  EXPECT_THAT(Frame(usual, options).force, ElementsAre(1, 2, 3));
  EXPECT_EQ((*Frame(usual, options).stress)[0], 9);
  EXPECT_THAT(Warnings(usual + One("E=-1"), options),
              ElementsAre(HasSubstr("1 of 2 frames have no E, the energy that the model learned from; energy is read"),
                          HasSubstr("1 of 2 frames have no f, the forces"),
                          HasSubstr("1 of 2 frames have no v, the virial that the model learned from; stress is")));
  // A key that is asked for is the only one.
  options.energy_key = "REF_energy";
  options.stress_key = "stress";
  EXPECT_EQ(Frame(both, options).energy, 1);
  EXPECT_EQ((*Frame(both, options).stress)[0], 9);
  EXPECT_FALSE(Frame(One("E=-1"), options).energy.has_value());
}

// ASE 3.19 and 3.20 wrote numbers and arrays so.
TEST(ExtxyzReaderTest, ValuesInAsesJson) {
  const Structure s = Frame(One(absl::StrCat(kCell,
                                             "energy=\"_JSON 70.38809727285381\" config_type=\"_JSON \\\"bulk\\\"\" "
                                             "stress=\"_JSON [[1, 6, 5], [6, 2, 4], [5, 4, 3]]\" "
                                             "more=\"_JSON {\\\"a\\\": 1}\" n=\"_JSON 3\"")));
  EXPECT_EQ(s.energy, 70.38809727285381);
  EXPECT_EQ(*s.stress, (Matrix3{1, 6, 5, 6, 2, 4, 5, 4, 3}));
  EXPECT_THAT(s.info, ElementsAre(Pair("config_type", "bulk"), Pair("more", "_JSON {\"a\": 1}"), Pair("n", "3")));
  EXPECT_THAT(ReadError(One("energy=\"_JSON none\"")), ::testing::HasSubstr("'none'"));
}

TEST(ExtxyzReaderTest, WarnsOfForcesThatDiffer) {
  const auto frame = [](absl::string_view first, absl::string_view second) {
    return absl::StrCat("2\nProperties=species:S:1:REF_forces:R:3:pos:R:3:forces:R:3\nO ", first, " 0 0 0 1 2 3\nO ",
                        second, " 0 0 2 1 2 3\n");
  };
  EXPECT_THAT(Warnings(frame("1 2 3", "1 2 3")), IsEmpty());
  EXPECT_THAT(Warnings(frame("1 2 3", "1 2.5 3") + frame("1 2 3", "1 2 3.000001") + frame("0 0 0", "0 0 0")),
              ElementsAre("f:4: REF_forces=(1 2.5 3), but forces=(1 2 3), in 2 of 3 frames, this first; the former is "
                          "used, --force_key=forces chooses the latter"));
  EXPECT_THAT(Frames(frame("0 0 0", "4 5 6"))[0].force, ElementsAre(0, 0, 0, 4, 5, 6));
  StructureReaderOptions options;
  options.force_key = "forces";
  EXPECT_THAT(Warnings(frame("0 0 0", "4 5 6"), options), IsEmpty());
  EXPECT_THAT(Frames(frame("0 0 0", "4 5 6"), options)[0].force, ElementsAre(1, 2, 3, 1, 2, 3));
}

TEST(ExtxyzReaderTest, WarnsOfStressesAndVirialsThatDiffer) {
  const std::string cell = "Lattice=\"2 0 0 0 2 0 0 0 2\" ";  // 8 cubic Angstrom
  const std::string stress = "stress=\"1 1 1 0 0 0\" ", virial = "virial=\"-8 -8 -8 0 0 0\" ";
  const std::string other_virial = "virial=\"-8 -8 8 0 0 0\" ";
  EXPECT_THAT(Warnings(One(cell + stress + virial)), IsEmpty());
  EXPECT_THAT(
      Warnings(One(cell + stress + other_virial)),
      ElementsAre("f:2: stress has zz=1, but -virial/volume zz=-1, in this one of 1 frames; the former is used, "
                  "--virial_key=virial chooses the latter"));
  EXPECT_THAT(Warnings(One(cell + stress + "REF_stress=\"1 1 2 0 0 0\"")),
              ElementsAre("f:2: REF_stress has zz=2, but stress zz=1, in this one of 1 frames; the former is used, "
                          "--stress_key=stress chooses the latter"));
  EXPECT_THAT(Warnings(One(cell + virial + "virials=\"1 0 0 0 1 0 0 0 1\"")),
              ElementsAre("f:2: virial has xx=-8, but virials xx=1, in this one of 1 frames; the former is used, "
                          "--virial_key=virials chooses the latter"));
  EXPECT_THAT(Warnings(One(stress + other_virial)), IsEmpty());  // neither is used
  StructureReaderOptions options;
  options.stress_key = "stress";
  EXPECT_THAT(Warnings(One(cell + stress + other_virial), options), IsEmpty());
  EXPECT_EQ((*Frame(One(cell + stress + other_virial), options).stress)[8], 1);
}

TEST(ExtxyzReaderTest, AVirialThatIsNamedCountsBeforeAStressThatIsNot) {
  const std::string cell = "Lattice=\"2 0 0 0 2 0 0 0 2\" ", stress = "stress=\"1 1 1 0 0 0\" ";
  const std::string both = One(cell + stress + "virial=\"-8 -8 8 0 0 0\" ");
  StructureReaderOptions options;
  options.virial_key = "virial";
  EXPECT_THAT(Warnings(both, options), IsEmpty());
  const Structure frame = Frame(both, options);
  EXPECT_EQ((*frame.stress)[8], -1);
  EXPECT_THAT(frame.info, ElementsAre(Pair("stress", "1 1 1 0 0 0")));
  EXPECT_EQ((*Frame(One(cell + stress), options).stress)[8], 1);
  options.stress_key = "stress";
  EXPECT_EQ((*Frame(both, options).stress)[8], 1);
}

}  // namespace
}  // namespace rutile
