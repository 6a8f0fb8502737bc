#include "lib/structure/runner_reader.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/structure/read_text.h"
#include "lib/structure/structure.h"

namespace rutile {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::Pointwise;
using ::testing::StartsWith;

constexpr char kTwo[] =
    "begin\ncomment two structures = here\nlattice 4 0 0\nlattice 1 5 0\nlattice 0 0 6\n"
    "atom 1 2 3 Ti 0.5 0.0 -1 -2 -3\natom -1 0 0 O 0 0 4 5 6\nenergy -10\ncharge 0.25\nend\n"
    "begin\natom 0 0 0 H 0 0 0 0 0\nend\n";

StructureReaderOptions In(RunnerUnits units) {
  StructureReaderOptions options;
  options.runner_units = units;
  return options;
}

TEST(RunnerReaderTest, AngstromAndEv) {
  const std::vector<Structure> frames = Frames(kTwo, In(RunnerUnits::kAngstromEv));
  ASSERT_EQ(frames.size(), 2);
  EXPECT_EQ(frames[0].name, "f#0");
  EXPECT_THAT(frames[0].element, ElementsAre(22, 8));
  EXPECT_THAT(frames[0].position, ElementsAre(1, 2, 3, -1, 0, 0));
  EXPECT_THAT(frames[0].force, ElementsAre(-1, -2, -3, 4, 5, 6));
  EXPECT_THAT(frames[0].cell, ElementsAre(4, 0, 0, 1, 5, 0, 0, 0, 6));
  EXPECT_THAT(frames[0].pbc, ElementsAre(true, true, true));
  EXPECT_EQ(frames[0].energy, -10);
  EXPECT_THAT(frames[0].info, ElementsAre(Pair("charge", "0.25"), Pair("comment", "two structures = here")));
  EXPECT_EQ(frames[1].size(), 1);
  EXPECT_FALSE(frames[1].energy.has_value());
  EXPECT_THAT(frames[1].pbc, ElementsAre(false, false, false));
  EXPECT_EQ(frames[1].cell, Matrix3{});
  EXPECT_THAT(frames[1].info, IsEmpty());
}

TEST(RunnerReaderTest, BohrAndHartree) {
  const Structure s = Frames(kTwo, In(RunnerUnits::kBohrHartree))[0];
  EXPECT_THAT(*s.energy, DoubleEq(-272.11386245988));
  EXPECT_THAT(s.position[2], DoubleEq(3 * 0.529177210903));
  EXPECT_THAT(s.cell[8], DoubleEq(6 * 0.529177210903));
  EXPECT_THAT(s.force, Pointwise(DoubleEq(), {-51.422067476325886, -2 * 51.422067476325886, -3 * 51.422067476325886,
                                              4 * 51.422067476325886, 5 * 51.422067476325886, 6 * 51.422067476325886}));
}

TEST(RunnerReaderTest, UnitsMustBeGiven) {
  EXPECT_THAT(ReadError(kTwo), StartsWith("f: RuNNer/n2p2 format, which does not say its units; pass --runner_units="));
}

TEST(RunnerReaderTest, Malformed) {
  const std::string head = "begin\natom 0 0 0 H 0 0 0 0 0\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {head, "f:2: the file ends within the structure that begins in line 1, expected \"end\"; the file is cut off"},
      {head + "atom 0 0 0 H 0 0 0 0\n", "f:3: 9 columns in atom 2 of the structure that begins in line 1, expected 10"},
      {head + "atom 0 0 0 H 0 0 0 0 0 0\n", "f:3: 11 columns"},
      {head + "atom 0 z 0 H 0 0 0 0 0\n", "f:3: column 3: 'z' is not a number"},
      {head + "atom 0 0 0 H 0 0 inf 0 0\n", "f:3: column 8: 'inf' is not finite"},
      {head + "atom 0 0 0 Hx 0 0 0 0 0\n", "f:3: 'Hx' is not an element in atom 2"},
      {head + "lattice 1 0 0\nend\n", "f:4: 1 lattice vectors in the structure"},
      {head + "lattice 1 0\nend\n", "f:3: lattice '1 0', expected three numbers"},
      {head + "lattice 1 0 0\nlattice 1 0 0\nlattice 1 0 0\nlattice 1 0 0\n", "f:6: a fourth \"lattice\""},
      {head + "lattice 1 0 0\nlattice 0 1 0\nlattice 1 1 0\nend\n", "f:1: the cell is singular"},
      {head + "energy\nend\n", "f:3: energy: nothing where a number should be"},
      {head + "energy nan\nend\n", "f:3: energy: 'nan' is not finite"},
      {head + "energy 1\nenergy 1\nend\n", "f:4: a second \"energy\""},
      {head + "charge x\nend\n", "f:3: charge: 'x' is not a number"},
      {head + "begin\n", "f:3: \"begin\" in the structure that begins in line 1"},
      {head + "foo 1\n", "f:3: 'foo', expected one of begin, comment"},
      {head + "end\natom 0 0 0 H 0 0 0 0 0\n", "f:4: 'atom 0 0 0 H 0 0 0 0 0', expected \"begin\""},
      {"begin\nend\n", "f:2: no atoms in the structure that begins in line 1"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(ReadError(text, In(RunnerUnits::kAngstromEv)), StartsWith(message)) << text;
  }
}

TEST(RunnerReaderTest, WhatIsTooLargeInOurUnits) {
  const StructureReaderOptions options = In(RunnerUnits::kBohrHartree);
  EXPECT_THAT(ReadError("begin\natom 0 0 0 H 0 0 0 0 1e308\nend\n", options), StartsWith("f:2: a force too large"));
  EXPECT_THAT(ReadError("begin\natom 0 0 0 H 0 0 0 0 0\nenergy -1e308\nend\n", options),
              StartsWith("f:3: energy: '-1e308' is too large"));
}

}  // namespace
}  // namespace rutile
