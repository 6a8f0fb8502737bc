// Every algorithm on every instruction set gives the list of the brute-force reference, bit for bit.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/neighbor/neighbor_testing.h"
#include "lib/structure/structure.h"
#include "lib/testing/for_each_target.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr NeighborAlgorithm kAlgorithms[] = {NeighborAlgorithm::kImages, NeighborAlgorithm::kCells};

const Matrix3 kTriclinic = {6.1, 0.3, -0.2, 2.4, 5.9, 0.1, -1.9, 1.1, 6.6};
const Matrix3 kThin = {1.3, 0, 0, 0.4, 9, 0, 0, 1.5, 11};
const Matrix3 kLeftHanded = {0, 5, 0.3, 5.5, 0, 0, 0.2, 0, 6};
const Matrix3 kSkewed = {4, 0, 0, 7, 4, 0, -9, 6, 5};

void ExpectSameAsBruteForce(const Structure& structure, double cutoff) {
  NeighborList expected;
  const absl::Status status = BruteForceNeighborList(structure, cutoff, &expected);
  ASSERT_TRUE(status.ok()) << status;
  ForEachTarget([&] {
    for (NeighborAlgorithm algorithm : kAlgorithms) {
      SCOPED_TRACE(algorithm == NeighborAlgorithm::kCells ? "cells" : "images");
      NeighborOptions options;
      options.algorithm = algorithm;
      NeighborSearch search(cutoff, options);
      NeighborList list;
      for (int repeat = 0; repeat < 2; ++repeat) {  // the second time in memory that was used
        const absl::Status found = search.Compute(structure, &list);
        ASSERT_TRUE(found.ok()) << found;
        ExpectEqual(list, expected);
      }
    }
  });
}

void ExpectErrorEverywhere(const Structure& structure, double cutoff, const std::string& words) {
  NeighborList list;
  const absl::Status expected = BruteForceNeighborList(structure, cutoff, &list);
  EXPECT_EQ(expected.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(expected.message(), HasSubstr(words));
  ForEachTarget([&] {
    for (NeighborAlgorithm algorithm : kAlgorithms) {
      NeighborOptions options;
      options.algorithm = algorithm;
      EXPECT_EQ(NeighborSearch(cutoff, options).Compute(structure, &list), expected);
    }
  });
}

using CellAndPeriodicity = std::tuple<Matrix3, int>;

class RandomCellTest : public testing::TestWithParam<CellAndPeriodicity> {
 protected:
  std::array<bool, 3> pbc() const {
    const int bits = std::get<1>(GetParam());
    return {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
  }
  Matrix3 cell() const { return std::get<0>(GetParam()); }
};

TEST_P(RandomCellTest, EqualsBruteForce) {
  RandomStream random(1, "neighbor_search_test", std::get<1>(GetParam()), static_cast<uint64_t>(cell()[0] * 10));
  for (const double outside : {0.0, 0.03, 2.0}) {
    for (const int num_atoms : {1, 2, 7, 16}) {
      SCOPED_TRACE(testing::Message() << num_atoms << " atoms, " << outside << " outside");
      const Structure structure = RandomStructure(num_atoms, cell(), pbc(), outside, &random);
      for (const double cutoff : {0.7, 3.9, 8.0}) ExpectSameAsBruteForce(structure, cutoff);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, RandomCellTest,
                         testing::Combine(testing::Values(kTriclinic, kThin, kLeftHanded, kSkewed),
                                          testing::Range(0, 8)));

TEST(NeighborSearchTest, LargeCellsEqualBruteForce) {
  RandomStream random(2, "neighbor_search_test");
  const Matrix3 cell = {30, 0, 0, 6, 31, 0, -4, 3, 35};
  for (const std::array<bool, 3>& pbc :
       {kPeriodic, kIsolated, std::array<bool, 3>{true, true, false}, std::array<bool, 3>{false, true, false}}) {
    ExpectSameAsBruteForce(RandomStructure(1500, cell, pbc, 0.1, &random), 5);
  }
  ExpectSameAsBruteForce(RandomStructure(3000, cell, kPeriodic, 0, &random), 4);
}

TEST(NeighborSearchTest, AtomsFarOutsideTheCell) {
  RandomStream random(3, "neighbor_search_test");
  // Atoms far from each other, so that no table of shifts is made; then all of them far from the origin.
  for (const double outside : {40.0, 1000.0}) {
    ExpectSameAsBruteForce(RandomStructure(20, kTriclinic, kPeriodic, outside, &random), 5);
  }
  Structure structure = RandomStructure(20, kTriclinic, kPeriodic, 0.1, &random);
  for (double& x : structure.position) x += 1e6;
  ExpectSameAsBruteForce(structure, 5);
}

TEST(NeighborSearchTest, SparseAndUnevenStructures) {
  RandomStream random(4, "neighbor_search_test");
  // A gas, a droplet with one atom very far from it, and a chain.
  ExpectSameAsBruteForce(RandomStructure(300, {200, 0, 0, 0, 200, 0, 0, 0, 200}, kIsolated, 0, &random), 6);
  Structure droplet = RandomStructure(300, {15, 0, 0, 0, 15, 0, 0, 0, 15}, kIsolated, 0, &random);
  droplet.position.insert(droplet.position.end(), {1e8, -1e8, 1e8});
  droplet.element.push_back(8);
  ExpectSameAsBruteForce(droplet, 6);
  ExpectSameAsBruteForce(
      RandomStructure(200, {400, 0, 0, 0, 3, 0, 0, 0, 3}, std::array<bool, 3>{true, false, false}, 0, &random), 6);
}

// Distances equal to the cutoff: one rounding decides, and it must be the same one everywhere, in both directions.
TEST(NeighborSearchTest, PairsAtTheCutoff) {
  RandomStream random(5, "neighbor_search_test");
  for (const double a : {4.0, 3.9 / 3 + 1e-15, 0.1 * 13}) {
    std::vector<double> position;
    for (int i = 0; i < 27; ++i) {
      for (int k : {i / 9, i / 3 % 3, i % 3}) position.push_back(0.3 + a * (k + 3.0 * random.Below(2)));
    }
    const Structure lattice = MakeStructure(position, {3 * a, 0, 0, 0, 3 * a, 0, 0, 0, 3 * a}, kPeriodic);
    for (const double cutoff : {a, 2 * a, a * std::sqrt(2.0), a * std::sqrt(5.0)}) {
      ExpectSameAsBruteForce(lattice, cutoff);
    }
  }
}

TEST(NeighborSearchTest, EveryPairIsListedBothWays) {
  RandomStream random(6, "neighbor_search_test");
  const Structure structure = RandomStructure(40, kSkewed, kPeriodic, 0.2, &random);
  NeighborList list;
  ASSERT_TRUE(NeighborSearch(6).Compute(structure, &list).ok());
  using Pair = std::tuple<int, int, int, int, int, double, double, double>;
  std::set<Pair> pairs, reversed;
  for (int i = 0; i < 40; ++i) {
    for (int64_t p = list.offset[i]; p < list.offset[i + 1]; ++p) {
      const int j = list.j[p];
      const int16_t* s = &list.shift[3 * p];
      pairs.insert({i, j, s[0], s[1], s[2], list.dx[p], list.dy[p], list.dz[p]});
      reversed.insert({j, i, -s[0], -s[1], -s[2], -list.dx[p], -list.dy[p], -list.dz[p]});
    }
  }
  EXPECT_EQ(static_cast<int64_t>(pairs.size()), list.num_pairs());
  EXPECT_TRUE(pairs == reversed);
}

std::vector<double> SortedDistances(const Structure& structure, double cutoff) {
  NeighborList list;
  EXPECT_TRUE(NeighborSearch(cutoff).Compute(structure, &list).ok());
  std::vector<double> d;
  for (int64_t p = 0; p < list.num_pairs(); ++p) d.push_back(std::hypot(list.dx[p], list.dy[p], list.dz[p]));
  std::sort(d.begin(), d.end());
  return d;
}

TEST(NeighborSearchTest, TranslationAndChoiceOfImagesDoNotMatter) {
  RandomStream random(7, "neighbor_search_test");
  const Structure structure = RandomStructure(30, kTriclinic, kPeriodic, 0, &random);
  const std::vector<double> expected = SortedDistances(structure, 6);
  Structure moved = structure;
  for (int i = 0; i < 30; ++i) {
    for (int k = 0; k < 3; ++k) {
      const double cells = static_cast<double>(random.Below(7)) - 3;
      for (int c = 0; c < 3; ++c) moved.position[3 * i + c] += cells * kTriclinic[3 * k + c];
      moved.position[3 * i + k] += 0.77;
    }
  }
  const std::vector<double> found = SortedDistances(moved, 6);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t p = 0; p < found.size(); ++p) EXPECT_NEAR(found[p], expected[p], 1e-13);
}

TEST(NeighborSearchTest, SupercellsHaveTheSamePairs) {
  RandomStream random(8, "neighbor_search_test");
  const Structure cell = RandomStructure(10, kTriclinic, kPeriodic, 0.1, &random);
  std::vector<double> position;
  const int times[3] = {3, 4, 2};
  for (int image = 0; image < 24; ++image) {
    const int s[3] = {image % 3, image / 3 % 4, image / 12};
    for (int i = 0; i < 10; ++i) {
      for (int c = 0; c < 3; ++c) {
        double x = cell.position[3 * i + c];
        for (int k = 0; k < 3; ++k) x += s[k] * kTriclinic[3 * k + c];
        position.push_back(x);
      }
    }
  }
  Matrix3 large = kTriclinic;
  for (int k = 0; k < 9; ++k) large[k] *= times[k / 3];
  EXPECT_EQ(SortedDistances(MakeStructure(position, large, kPeriodic), 6).size(), 24 * SortedDistances(cell, 6).size());
}

TEST(NeighborSearchTest, WithoutShifts) {
  RandomStream random(9, "neighbor_search_test");
  const Structure structure = RandomStructure(20, kTriclinic, kPeriodic, 0.1, &random);
  NeighborList expected;
  ASSERT_TRUE(BruteForceNeighborList(structure, 6, &expected).ok());
  expected.shift.clear();
  ForEachTarget([&] {
    for (NeighborAlgorithm algorithm : kAlgorithms) {
      NeighborOptions options;
      options.shifts = false;
      options.algorithm = algorithm;
      NeighborList list;
      ASSERT_TRUE(NeighborSearch(6, options).Compute(structure, &list).ok());
      ExpectEqual(list, expected);
    }
  });
}

TEST(NeighborSearchTest, WithoutVectors) {
  RandomStream random(11, "neighbor_search_test");
  const Structure structure = RandomStructure(20, kTriclinic, kPeriodic, 0.1, &random);
  NeighborList expected;
  ASSERT_TRUE(BruteForceNeighborList(structure, 6, &expected).ok());
  EXPECT_LT(expected.nearest_squared, 4);
  for (std::vector<double>* const d : {&expected.dx, &expected.dy, &expected.dz}) d->clear();
  NeighborList without_shifts = expected;
  without_shifts.shift.clear();
  ForEachTarget([&] {
    NeighborList list;
    for (NeighborAlgorithm algorithm : kAlgorithms) {
      for (const bool shifts : {true, false}) {
        NeighborOptions options;
        options.shifts = shifts;
        options.vectors = false;
        options.algorithm = algorithm;
        ASSERT_TRUE(NeighborSearch(6, options).Compute(structure, &list).ok());
        ExpectEqual(list, shifts ? expected : without_shifts);
      }
    }
  });
}

TEST(NeighborSearchTest, NearestOfNone) {
  for (const auto& position : {std::vector<double>{}, {1, 2, 3}, {1, 2, 3, 1, 2, 9}}) {
    NeighborList list;
    list.nearest_squared = 1;
    ASSERT_TRUE(NeighborSearch(5).Compute(MakeStructure(position, {}, kIsolated), &list).ok());
    EXPECT_EQ(list.nearest_squared, std::numeric_limits<double>::infinity());
  }
}

// One search object handles structures of all sizes, and lists that others have filled.
TEST(NeighborSearchTest, ReusesItsMemory) {
  RandomStream random(10, "neighbor_search_test");
  for (NeighborAlgorithm algorithm : {kAlgorithms[0], kAlgorithms[1], NeighborAlgorithm::kFastest}) {
    NeighborOptions options;
    options.algorithm = algorithm;
    NeighborSearch search(5, options);
    NeighborList list, expected;
    for (const int num_atoms : {12, 0, 300, 1, 24, 0, 260, 40}) {
      const Matrix3 cell = {12.0 + num_atoms % 7, 0, 0, 1, 11, 0, 0, 2, 13};
      const Structure structure = RandomStructure(num_atoms, cell, kPeriodic, 0.2, &random);
      ASSERT_TRUE(search.Compute(structure, &list).ok());
      ASSERT_TRUE(BruteForceNeighborList(structure, 5, &expected).ok());
      ExpectEqual(list, expected);
      list.dx.clear();
      list.shift.resize(3);
    }
    NeighborSearch moved = std::move(search);
    EXPECT_TRUE(moved.Compute(MakeStructure({0, 0, 0}, {}, kIsolated), &list).ok());
    EXPECT_THAT(list.offset, ElementsAre(0, 0));
    EXPECT_THAT(list.dx, IsEmpty());
  }
}

TEST(NeighborSearchTest, SameErrorsAsBruteForce) {
  const Matrix3 cube = {5, 0, 0, 0, 5, 0, 0, 0, 5};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  ExpectErrorEverywhere(MakeStructure({0, 0, nan}, cube, kPeriodic), 3, "z of atom 1 is nan");
  ExpectErrorEverywhere(MakeStructure({0, 0, 0}, {}, kPeriodic), 3, "singular");
  ExpectErrorEverywhere(MakeStructure({0, 0, 0, 2, 0, 0, 2.05, 0, 0}, cube, kPeriodic), 3, "atoms 2 and 3 are 0.05");
  ExpectErrorEverywhere(MakeStructure({1, 1, 1, 1, 1, 1}, cube, kPeriodic), 3, "atoms 1 and 2 are 0 Angstrom");
  ExpectErrorEverywhere(MakeStructure({1, 1, 1, 11, 1, 1}, cube, kPeriodic), 3,
                        "atoms 1 and 2 (image -2 0 0 of the cell) are 0 Angstrom");
  ExpectErrorEverywhere(MakeStructure({0, 0, 0}, {5, 0, 0, 0, 5, 0, 0, 0, 0.05}, kPeriodic), 3, "its own image");
  ExpectErrorEverywhere(MakeStructure({0, 0, 0, 0.09, 0, 0}, {}, kIsolated), 0.01, "atoms 1 and 2");
  ExpectErrorEverywhere(MakeStructure({0, 0, 0, 2, 200000, 0}, cube, kPeriodic), 3, "40000 cells apart");

  // With several close pairs in several blocks, the error names the first in the order of the list.
  RandomStream random(11, "neighbor_search_test");
  Structure structure = RandomStructure(400, {20, 0, 0, 0, 20, 0, 0, 0, 20}, kPeriodic, 0, &random);
  for (const int i : {390, 130, 77}) {
    for (int c = 0; c < 3; ++c) structure.position[3 * i + c] = structure.position[3 * (i - 60) + c] + 0.01;
  }
  ExpectErrorEverywhere(structure, 5, "atoms 18 and 78 are");
}

}  // namespace
}  // namespace rutile
