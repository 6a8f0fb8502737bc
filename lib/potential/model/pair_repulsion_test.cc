#include "lib/potential/model/pair_repulsion.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/potential/model/zbl_options.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::Each;

DescriptorOptions Descriptor() {
  ChebyshevOptions options;
  options.species = {6, 1};
  options.rad_cutoff = 4;
  options.ang_cutoff = 3;
  return options;
}

RepulsionRadii Radii() { return *RadiiOf({ZblOptions::Kind::kAuto, 0, 0}, Descriptor()); }

// Three atoms in a skewed cell so small that they repel their own images.
Structure Crystal() {
  Structure structure;
  structure.element = {6, 1, 6};
  structure.position = {0, 0, 0, 0.5, 0.4, 0.1, 0.3, 0.9, 1.1};
  structure.cell = {1.1, 0, 0, 0.2, 1.9, 0, -0.1, 0.3, 2.4};
  structure.pbc = {true, true, true};
  return structure;
}

PairRepulsion::Result Compute(const Structure& structure, int64_t first = 0, int64_t num_centers = -1) {
  NeighborList list;
  EXPECT_TRUE(NeighborSearch(4).Compute(structure, &list).ok());
  std::vector<uint8_t> species;
  for (const uint8_t element : structure.element) species.push_back(element == 6 ? 0 : 1);
  StructureGeometry geometry;
  geometry.species = species;
  geometry.position = structure.position;
  geometry.cell = structure.cell;
  geometry.pairs = {list.offset, list.j.data(), list.shift.data(), 0};
  PairRepulsion::Result result;
  PairRepulsion(Radii(), Descriptor())
      .Compute(geometry, num_centers < 0 ? static_cast<int64_t>(structure.size()) : num_centers, &result);
  return result;
}

TEST(PairRepulsionTest, OfTwoAtomsIsThePair) {
  Structure dimer;
  dimer.element = {6, 1};
  dimer.position = {0, 0, 0, 0, 0, 0.3};
  const ZblPair::Value pair = ZblPair(6, 1, Radii().inner[1], Radii().outer[1]).At(0.3);
  const PairRepulsion::Result result = Compute(dimer);
  EXPECT_DOUBLE_EQ(result.energy, pair.energy);
  EXPECT_GT(result.energy, 50);
  EXPECT_DOUBLE_EQ(result.atom_energy[0], pair.energy / 2);
  EXPECT_DOUBLE_EQ(result.atom_energy[1], pair.energy / 2);
  EXPECT_DOUBLE_EQ(result.force[2], pair.slope);  // pushed away from the other atom
  EXPECT_LT(result.force[2], -100);
  EXPECT_DOUBLE_EQ(result.force[5], -pair.slope);
  EXPECT_DOUBLE_EQ(result.virial[8], pair.slope * 0.3);
}

TEST(PairRepulsionTest, ForcesAndVirialAreFiniteDifferences) {
  const Structure crystal = Crystal();
  const PairRepulsion::Result result = Compute(crystal);
  EXPECT_GT(result.energy, 1);
  constexpr double kStep = 1e-6;
  for (size_t c = 0; c < crystal.position.size(); ++c) {
    Structure above = crystal, below = crystal;
    above.position[c] += kStep;
    below.position[c] -= kStep;
    EXPECT_NEAR(result.force[c], -(Compute(above).energy - Compute(below).energy) / (2 * kStep), 1e-6) << c;
  }
  const auto strained = [&](int a, int b, double strain) {
    Structure moved = crystal;
    for (size_t i = 0; i < moved.position.size(); i += 3) moved.position[i + a] += strain * moved.position[i + b];
    for (int row = 0; row < 3; ++row) moved.cell[3 * row + a] += strain * moved.cell[3 * row + b];
    return Compute(moved).energy;
  };
  for (int a = 0; a < 3; ++a) {
    for (int b = 0; b < 3; ++b) {
      EXPECT_NEAR(result.virial[3 * a + b], (strained(a, b, kStep) - strained(a, b, -kStep)) / (2 * kStep), 1e-5);
      EXPECT_DOUBLE_EQ(result.virial[3 * a + b], result.virial[3 * b + a]);
    }
  }
}

// The first atoms' share and that of the others make the whole: with the first two atoms last, the third is first.
TEST(PairRepulsionTest, SharesAddUp) {
  const Structure crystal = Crystal();
  Structure turned = crystal;
  turned.element = {6, 6, 1};
  turned.position = {0.3, 0.9, 1.1, 0, 0, 0, 0.5, 0.4, 0.1};
  const PairRepulsion::Result whole = Compute(crystal), two = Compute(crystal, 0, 2), one = Compute(turned, 0, 1);
  EXPECT_NEAR(two.energy + one.energy, whole.energy, 1e-12 * whole.energy);
  for (int a = 0; a < 3; ++a) {
    EXPECT_NEAR(two.force[a] + one.force[3 + a], whole.force[a], 1e-11);
    EXPECT_NEAR(two.force[3 + a] + one.force[6 + a], whole.force[3 + a], 1e-11);
    EXPECT_NEAR(two.force[6 + a] + one.force[a], whole.force[6 + a], 1e-11);
  }
  for (int k = 0; k < 9; ++k) EXPECT_NEAR(two.virial[k] + one.virial[k], whole.virial[k], 1e-11);
}

TEST(PairRepulsionTest, EndsAtTheOuterRadius) {
  Structure dimer;
  dimer.element = {6, 6};
  dimer.position = {0, 0, 0, 1.22, 0, 0};  // two carbons: 1.216
  const PairRepulsion::Result result = Compute(dimer);
  EXPECT_EQ(result.energy, 0);
  EXPECT_THAT(result.force, Each(0));
}

TEST(PairRepulsionTest, NoneIsEmpty) {
  EXPECT_TRUE(PairRepulsion().empty());
  EXPECT_TRUE(PairRepulsion(RepulsionRadii(), Descriptor()).empty());
  EXPECT_TRUE(CheckRepulsion(RepulsionRadii(), Descriptor()).ok());
  EXPECT_EQ(DescribeRepulsion(RepulsionRadii(), Descriptor()), "");
}

TEST(PairRepulsionTest, ChecksRadii) {
  const RepulsionRadii good = Radii();
  EXPECT_TRUE(CheckRepulsion(good, Descriptor()).ok());
  const auto expect = [](const RepulsionRadii& radii, const std::vector<std::string>& facts) {
    EXPECT_THAT(CheckRepulsion(radii, Descriptor()), ErrorNames(absl::StatusCode::kInvalidArgument, facts));
  };
  RepulsionRadii bad = good;
  bad.inner.pop_back();
  expect(bad, {"3 inner", "4 outer", "2 species"});
  bad = good;
  bad.outer[1] = 1.1;
  expect(bad, {"C-H", "H-C"});
  bad = good;
  bad.inner[3] = bad.outer[3];
  expect(bad, {"H-H", "0.496"});
  bad = good;
  bad.outer[0] = 4.5;
  expect(bad, {"C-C", "4.5", "cutoff of 4"});
  bad = good;
  bad.inner[0] = std::nan("");
  expect(bad, {"C-C"});
}

TEST(PairRepulsionTest, DescribesPairsThatDiffer) {
  EXPECT_EQ(DescribeRepulsion(Radii(), Descriptor()), "C-C 0.608 to 1.216, C-H 0.428 to 0.856, H-H 0.248 to 0.496");
  EXPECT_EQ(DescribeRepulsion({{1, 1, 1, 1}, {2, 2, 2, 2}}, Descriptor()), "1 to 2");
}

}  // namespace
}  // namespace rutile
