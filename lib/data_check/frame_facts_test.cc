#include "lib/data_check/frame_facts.h"

#include <cmath>
#include <cstdint>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

Structure TwoAtoms() {
  Structure s;
  s.name = "a.xyz#1";
  s.element = {22, 8};
  s.cell = {4, 0, 0, 0, 5, 0, 0, 0, 6};
  s.pbc = {true, true, true};
  s.position = {0, 0, 0, 1.9, 0, 0};
  return s;
}

FrameFacts Examine(const Structure& structure) {
  FrameExaminer examiner;
  FrameFacts facts;
  examiner.Examine(structure, &facts);
  return facts;
}

TEST(FrameFactsTest, NumbersOfAStructure) {
  Structure s = TwoAtoms();
  s.energy = -10;
  s.energy_key = "REF_energy";
  s.force = {1, -3, 0, 2, 0, 0};
  s.stress = Matrix3{0.1, 0, 0, 0, -0.2, 0, 0, 0, 0};
  const FrameFacts facts = Examine(s);
  EXPECT_EQ(facts.name, "a.xyz#1");
  EXPECT_EQ(facts.atoms, 2);
  EXPECT_THAT(facts.composition, ElementsAre(Pair(8, 1), Pair(22, 1)));
  EXPECT_EQ(CompositionText(facts), "OTi");
  EXPECT_EQ(facts.energy, -10);
  EXPECT_EQ(facts.energy_per_atom(), -5);
  EXPECT_EQ(facts.largest_force, 3);
  EXPECT_EQ(facts.largest_stress, 0.2);
  EXPECT_EQ(facts.energy_key, "REF_energy");
  EXPECT_DOUBLE_EQ(facts.nearest, 1.9);
  EXPECT_DOUBLE_EQ(facts.nearest_share, 1.9 / (1.60 + 0.66));
  EXPECT_FALSE(facts.in_unit_box);
  EXPECT_FALSE(facts.is_isolated_atom);
}

TEST(FrameFactsTest, WithoutLabels) {
  const FrameFacts facts = Examine(TwoAtoms());
  EXPECT_FALSE(facts.energy.has_value());
  EXPECT_FALSE(facts.largest_force.has_value());
  EXPECT_FALSE(facts.largest_stress.has_value());
  EXPECT_EQ(facts.energy_key, "");
}

// Through a face of the cell, beyond the narrow search, and where the neighbor search refuses.
TEST(FrameFactsTest, NearestDistances) {
  Structure s = TwoAtoms();
  s.position[3] = 3.5;
  EXPECT_DOUBLE_EQ(Examine(s).nearest, 0.5);
  s.element = {55, 55};
  s.cell = {20, 0, 0, 0, 20, 0, 0, 0, 20};
  s.position[3] = 5;
  EXPECT_DOUBLE_EQ(Examine(s).nearest, 5);
  EXPECT_DOUBLE_EQ(Examine(s).nearest_share, 5 / 4.88);
  s.position[3] = 10;
  EXPECT_TRUE(std::isinf(Examine(s).nearest));
  s.position[3] = 0.05;
  EXPECT_EQ(Examine(s).nearest_share, 0);
}

TEST(FrameFactsTest, CoordinatesThatLookFractional) {
  Structure s = TwoAtoms();
  s.position = {0, 0.5, 0.25, 1, 0, 0.99};
  EXPECT_TRUE(Examine(s).in_unit_box);
  s.position[0] = 1.1;
  EXPECT_FALSE(Examine(s).in_unit_box);
  s.position[0] = 0;
  s.cell[0] = 2;
  EXPECT_FALSE(Examine(s).in_unit_box) << "a small cell";
  s.cell[0] = 4;
  s.pbc[2] = false;
  EXPECT_FALSE(Examine(s).in_unit_box) << "a molecule lies where it wants";
}

// In a body-centered cell both atoms are centers of inversion; displaced, neither is. A force of exactly zero is then
// no consequence of symmetry.
TEST(FrameFactsTest, ZeroForcesThatSymmetryDoesNotExplain) {
  Structure s;
  s.element = {22, 8};
  s.cell = {4, 0, 0, 0, 4, 0, 0, 0, 4};
  s.pbc = {true, true, true};
  s.position = {0, 0, 0, 2, 2, 2};
  EXPECT_EQ(Examine(s).unexplained_zero_forces, 0) << "no forces";
  s.force = {0, 0, 0, 0, 0, 0};
  EXPECT_EQ(Examine(s).unexplained_zero_forces, 0) << "symmetry";
  s.force = {0, 0, 0, 0, 0, 1};
  EXPECT_EQ(Examine(s).unexplained_zero_forces, 0) << "symmetry of the first atom";
  s.position[4] = 2.00001;  // rounding
  EXPECT_EQ(Examine(s).unexplained_zero_forces, 0);
  s.position[4] = 2.1;
  EXPECT_EQ(Examine(s).unexplained_zero_forces, 1);
  s.force = {0, 1e-6, 0, 0, 0, 1};
  EXPECT_EQ(Examine(s).unexplained_zero_forces, 0) << "a component is not zero";
  s.force = {0, 0, 0, 0, 0, 0};
  EXPECT_EQ(Examine(s).unexplained_zero_forces, 0) << "no other atom has a force";
  s.force = {0, 0, 0, 0, 0, 1};
  s.pbc = {false, false, false};
  s.cell = {};
  s.position = {0, 0, 0, 7, 0, 0};
  EXPECT_EQ(Examine(s).unexplained_zero_forces, 0) << "no neighbor within 6.5 Angstrom";
}

// The carbon atom of a linear CO2 has no force by symmetry, whatever the oxygen atoms have; of a bent one it has.
TEST(FrameFactsTest, ZeroForcesInMolecules) {
  Structure s;
  s.element = {6, 8, 8};
  s.position = {0, 0, 0, 1.2, 0, 0, -1.2, 0, 0};
  s.force = {0, 0, 0, -1, 0, 0, 1, 0, 0};
  EXPECT_EQ(Examine(s).unexplained_zero_forces, 0);
  s.position[7] = 0.3;
  EXPECT_EQ(Examine(s).unexplained_zero_forces, 1);
}

TEST(FrameFactsTest, IsolatedAtoms) {
  Structure s;
  s.element = {8};
  s.position = {1, 2, 3};
  EXPECT_TRUE(Examine(s).is_isolated_atom);
  s.pbc = {true, true, true};
  s.cell = {12, 0, 0, 0, 12, 0, 0, 0, 12};
  EXPECT_TRUE(Examine(s).is_isolated_atom) << "a large box";
  s.cell = {4, 0, 0, 0, 4, 0, 0, 0, 4};
  EXPECT_FALSE(Examine(s).is_isolated_atom) << "a crystal";
  s.info["config_type"] = "IsolatedAtom";
  EXPECT_TRUE(Examine(s).is_isolated_atom) << "it says so";
}

TEST(FrameFactsTest, EqualGeometriesHaveEqualHashes) {
  const uint64_t hash = Examine(TwoAtoms()).geometry;
  Structure s = TwoAtoms();
  s.name = "other";
  s.energy = -1;
  s.position[0] = 1e-9;
  EXPECT_EQ(Examine(s).geometry, hash);
  s.position[0] = 1e-3;
  EXPECT_NE(Examine(s).geometry, hash);
  s = TwoAtoms();
  s.element = {8, 22};
  EXPECT_NE(Examine(s).geometry, hash);
  s = TwoAtoms();
  s.cell[4] = 5.1;
  EXPECT_NE(Examine(s).geometry, hash);
  s = TwoAtoms();
  s.pbc[1] = false;
  EXPECT_NE(Examine(s).geometry, hash);
}

TEST(FrameFactsTest, PartsHaveNames) {
  EXPECT_EQ(DataPartName(DataPart::kAll), "");
  EXPECT_EQ(DataPartName(DataPart::kTrain), "training");
  EXPECT_EQ(DataPartName(DataPart::kTest), "test");
}

}  // namespace
}  // namespace rutile
