#include "lib/neighbor/pair_vectors.h"

#include <limits>

#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/neighbor/neighbor_testing.h"

namespace rutile {
namespace {

const Matrix3 kSkewed = {6.1, 0.3, -0.2, 2.4, 5.9, 0.1, -1.9, 1.1, 6.6};

// What a file of neighbors would hold: numbers and offsets that count from elsewhere.
struct Cached {
  explicit Cached(const NeighborList& list) : shift(list.shift) {
    for (const int64_t o : list.offset) offset.push_back(o + 2);
    j = {-1, -1};
    for (const int32_t n : list.j) j.push_back(n + 7);
    shift.insert(shift.begin(), 6, 99);
  }
  PairView view() const { return {offset, j.data(), shift.data(), 7}; }
  std::vector<int64_t> offset;
  std::vector<int32_t> j;
  std::vector<int16_t> shift;
};

TEST(PairVectorsTest, TheListOfASearchBitForBit) {
  RandomStream random(1, "pair_vectors_test", 0, 0);
  for (const auto& pbc : {kPeriodic, kIsolated, std::array<bool, 3>{true, false, true}}) {
    const Structure structure = RandomStructure(11, kSkewed, pbc, /*outside=*/1.5, &random);
    NeighborList all, found;
    ASSERT_TRUE(NeighborSearch(7).Compute(structure, &all).ok());
    for (const double cutoff : {7.0, 5.0, 2.0, 0.4}) {
      NeighborList expected;
      ASSERT_TRUE(NeighborSearch(cutoff).Compute(structure, &expected).ok());
      const Cached cached(all);
      ListFromPairs(structure.position, structure.cell, cached.view(), cutoff, &found);
      expected.shift.clear();
      ExpectEqual(found, expected);
    }
  }
}

TEST(PairVectorsTest, NoPairs) {
  Structure structure;
  structure.element = {1};
  structure.position = {1, 2, 3};
  NeighborList list, found;
  ASSERT_TRUE(NeighborSearch(3).Compute(structure, &list).ok());
  ListFromPairs(structure.position, structure.cell, Cached(list).view(), 3, &found);
  EXPECT_EQ(found.offset, list.offset);
  EXPECT_EQ(found.num_pairs(), 0);
  EXPECT_EQ(found.nearest_squared, std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace rutile
