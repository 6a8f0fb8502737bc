#include "lib/potential/gpu/pair_slots_builder.h"

#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "lib/descriptor/derivative_testing.h"
#include "lib/potential/gpu/descriptor_host_tables.h"

namespace rutile {
namespace {

HostDescriptorTables Tables(double rad_cutoff, double ang_cutoff, double nearer) {
  ChebyshevOptions options;
  options.species = {8, 22};
  options.rad_cutoff = rad_cutoff;
  options.ang_cutoff = ang_cutoff;
  options.nearer = {{2, nearer}};
  return MakeHostDescriptorTables(options);
}

// A structure in raw arrays, with atoms 0, 1, 2, ... of the two species in turn.
struct Raw {
  std::vector<double> position, cell = std::vector<double>(9);
  std::vector<uint8_t> species;
  std::vector<int64_t> offset = {0};
  std::vector<int32_t> j;
  std::vector<int16_t> shift;

  void AddAtom(double x, double y, double z) {
    position.insert(position.end(), {x, y, z});
    species.push_back(species.size() % 2);
  }
  void AddPair(int32_t to, int16_t a = 0) {
    j.push_back(to + 5);
    shift.insert(shift.end(), {a, 0, 0});
  }
  void EndAtom() { offset.push_back(j.size()); }
  StructurePairs Get() const {
    return {static_cast<int64_t>(species.size()),
            position.data(),
            cell.data(),
            species.data(),
            offset.data(),
            j.data(),
            shift.data(),
            5};
  }
};

// One atom at the origin lists four neighbors; only the last one lists it in turn.
Raw Star() {
  Raw raw;
  for (const double x : {0.0, 3.0, 2.0, 0.5, 2.0}) raw.AddAtom(raw.species.size() == 4 ? -x : x, 0, 0);
  for (const int32_t to : {1, 2, 3, 4}) raw.AddPair(to);
  raw.EndAtom();
  for (int i = 1; i < 4; ++i) raw.EndAtom();
  raw.AddPair(0);
  raw.EndAtom();
  return raw;
}

TEST(PairSlotsBuilderTest, SortsAndCounts) {
  HostPairSlots<double> slots;
  const Raw raw = Star();
  // The atom at 0.5 is nearer than min_cutoff, and those at 2 and 3 are exactly on cutoffs.
  slots.Add(Tables(3, 2, 1), raw.Get());
  ASSERT_EQ(slots.num_atoms, 5);
  EXPECT_EQ(slots.num_sets, 2);
  EXPECT_EQ(slots.count, (std::vector<int32_t>{3, 0, 0, 0, 1}));
  EXPECT_EQ(slots.radial_count, (std::vector<int32_t>{3, 0, 0, 0, 1}));
  EXPECT_EQ(slots.angular_count[0], (std::vector<int32_t>{2, 0, 0, 0, 1}));
  EXPECT_EQ(slots.angular_count[1], (std::vector<int32_t>{0, 0, 0, 0, 0}));
  ASSERT_EQ(slots.x.size(), 3 * kGroupAtoms);
  // Equal distances keep their order: atom 2 before atom 4.
  for (const auto& [k, x, to] : {std::tuple(0, 2.0, 2), std::tuple(1, -2.0, 4), std::tuple(2, 3.0, 1)}) {
    EXPECT_EQ(slots.x[k * kGroupAtoms], x);
    EXPECT_EQ(slots.j[k * kGroupAtoms], to);
    EXPECT_EQ(slots.spin[k * kGroupAtoms], to % 2 == 0 ? -1 : 1);
  }
  EXPECT_EQ(slots.reverse[0], -1);
  EXPECT_EQ(slots.reverse[kGroupAtoms], 4);
  EXPECT_EQ(slots.reverse[4], kGroupAtoms);
}

TEST(PairSlotsBuilderTest, NumbersAtomsAcrossStructures) {
  HostPairSlots<float> slots;
  const Raw raw = Star();
  const HostDescriptorTables tables = Tables(3, 2, 1);
  for (int s = 0; s < 7; ++s) slots.Add(tables, raw.Get());
  ASSERT_EQ(slots.num_atoms, 35);
  // The first group ends within the seventh structure, whose first atom has three neighbors and whose last has one.
  EXPECT_EQ(slots.group_first, (std::vector<int64_t>{0, 3 * kGroupAtoms}));
  EXPECT_EQ(slots.x.size(), 4 * kGroupAtoms);
  EXPECT_EQ(slots.j[30], 32);
  const int64_t last = 3 * kGroupAtoms + 2;  // atom 34 lists atom 30
  EXPECT_EQ(slots.j[last], 30);
  EXPECT_EQ(slots.reverse[last], 30 + kGroupAtoms);
  EXPECT_EQ(slots.reverse[30 + kGroupAtoms], last);
}

TEST(PairSlotsBuilderTest, AnAtomIsItsOwnNeighbor) {
  Raw raw;
  raw.AddAtom(0.25, 0, 0);
  raw.cell[0] = 1.5;
  for (const int16_t a : {-2, -1, 1, 2}) raw.AddPair(0, a);
  raw.EndAtom();
  HostPairSlots<double> slots;
  slots.Add(Tables(3, 2, 1), raw.Get());
  for (int k = 0; k < 4; ++k) {
    const int32_t back = slots.reverse[k * kGroupAtoms];
    ASSERT_EQ(back, (k ^ 1) * kGroupAtoms);
    EXPECT_EQ(slots.x[back], -slots.x[k * kGroupAtoms]);
  }
}

// In a random crystal every pair is seen from both ends, by opposite vectors.
TEST(PairSlotsBuilderTest, ReverseIsAnInvolution) {
  const SampleGeometry sample(RandomStructure(40, 6, 9), std::vector<uint8_t>(40), 3);
  const StructureGeometry geometry = sample.Get();
  HostPairSlots<double> slots;
  slots.Add(Tables(3, 2, 1),
            {sample.size(), geometry.position.data(), geometry.cell.data(), geometry.species.data(),
             geometry.pairs.offset.data(), geometry.pairs.j, geometry.pairs.shift, geometry.pairs.first_atom});
  PairSlots<double> view = {};
  view.group_first = slots.group_first.data();
  std::set<int32_t> seen;
  for (int32_t i = 0; i < 40; ++i) {
    for (int k = 0; k < slots.count[i]; ++k) {
      const int64_t slot = view.Slot(i, k);
      const int32_t back = slots.reverse[slot];
      ASSERT_GE(back, 0);
      EXPECT_TRUE(seen.insert(back).second);
      EXPECT_EQ(slots.reverse[back], slot);
      EXPECT_EQ(slots.j[back], i);
      EXPECT_EQ(slots.x[back], -slots.x[slot]);
      EXPECT_EQ(slots.z[back], -slots.z[slot]);
    }
  }
  EXPECT_GT(seen.size(), 40);
}

}  // namespace
}  // namespace rutile
