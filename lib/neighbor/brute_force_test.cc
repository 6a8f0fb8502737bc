#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/structure/structure.h"
#include "nlohmann/json.hpp"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Structure MakeStructure(const std::vector<double>& position, const Matrix3& cell, std::array<bool, 3> pbc) {
  Structure structure;
  structure.position = position;
  structure.element.assign(position.size() / 3, 22);
  structure.cell = cell;
  structure.pbc = pbc;
  return structure;
}

NeighborList BruteForce(const Structure& structure, double cutoff) {
  NeighborList list;
  const absl::Status status = BruteForceNeighborList(structure, cutoff, &list);
  EXPECT_TRUE(status.ok()) << status;
  return list;
}

std::string ErrorOf(const Structure& structure, double cutoff) {
  NeighborList list;
  const absl::Status status = BruteForceNeighborList(structure, cutoff, &list);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

constexpr std::array<bool, 3> kPeriodic = {true, true, true};
constexpr std::array<bool, 3> kIsolated = {false, false, false};

class GoldenTest : public testing::TestWithParam<const char*> {};

TEST_P(GoldenTest, CountsNeighbors) {
  std::ifstream file(std::string("testdata/potential/") + GetParam() + ".json");
  const nlohmann::json golden = nlohmann::json::parse(file);
  std::vector<double> position;
  for (const auto& r : golden["positions"]) {
    for (double x : r) position.push_back(x);
  }
  Matrix3 cell = {};
  std::array<bool, 3> pbc = kIsolated;
  if (!golden["cell"].is_null()) {
    for (int k = 0; k < 9; ++k) cell[k] = golden["cell"][k / 3][k % 3];
    pbc = golden["pbc"];
  }
  const auto& descriptor = golden["descriptor"];
  const double cutoff = std::max(descriptor["rad_cutoff"].get<double>(), descriptor["ang_cutoff"].get<double>());
  const NeighborList list = BruteForce(MakeStructure(position, cell, pbc), cutoff);
  std::vector<int> counts;
  for (size_t i = 0; i + 1 < list.offset.size(); ++i) {
    counts.push_back(0);
    for (int64_t p = list.offset[i]; p < list.offset[i + 1]; ++p) {
      counts.back() += std::hypot(list.dx[p], list.dy[p], list.dz[p]) > descriptor["min_cutoff"].get<double>();
    }
  }
  EXPECT_EQ(counts, golden["neighbours_per_atom"].get<std::vector<int>>());
}

INSTANTIATE_TEST_SUITE_P(All, GoldenTest,
                         testing::Values("batio3_3species", "co2_collinear_isolated", "fcc_cu_primitive_1atom",
                                         "single_atom_isolated", "slab_pbc_TTF", "tio2_columbite_12atoms",
                                         "tio2_rutile_multi_image", "triclinic_4atoms", "water_isolated"));

TEST(BruteForceTest, ListsImagesInOrder) {
  const NeighborList list = BruteForce(MakeStructure({0.5, 0, 0}, {2, 0, 0, 0, 9, 0, 0, 0, 9}, kPeriodic), 4);
  EXPECT_THAT(list.offset, ElementsAre(0, 4));
  EXPECT_THAT(list.j, ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(list.shift, ElementsAre(-2, 0, 0, -1, 0, 0, 1, 0, 0, 2, 0, 0));
  EXPECT_THAT(list.dx, ElementsAre(-4, -2, 2, 4));
}

TEST(BruteForceTest, ShiftsAreRelativeToPositionsAsGiven) {
  // The second atom, brought back by 7 cells, is 1 Angstrom to the left of the first.
  const NeighborList list =
      BruteForce(MakeStructure({0, 0, 0, 7 * 5 - 1, 0, 0}, {5, 0, 0, 0, 5, 0, 0, 0, 5}, kPeriodic), 2);
  EXPECT_THAT(list.j, ElementsAre(1, 0));
  EXPECT_THAT(list.shift, ElementsAre(-7, 0, 0, 7, 0, 0));
  EXPECT_THAT(list.dx, ElementsAre(-1, 1));
}

TEST(BruteForceTest, NoNeighbors) {
  EXPECT_THAT(BruteForce(MakeStructure({}, {}, kIsolated), 5).offset, ElementsAre(0));
  EXPECT_THAT(BruteForce(MakeStructure({1, 2, 3}, {}, kIsolated), 5).offset, ElementsAre(0, 0));
  EXPECT_THAT(BruteForce(MakeStructure({1, 2, 3}, {6, 0, 0, 0, 6, 0, 0, 0, 6}, kPeriodic), 5).offset,
              ElementsAre(0, 0));
}

TEST(BruteForceTest, RefusesPositionsThatAreNotFinite) {
  for (double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1e30}) {
    EXPECT_THAT(ErrorOf(MakeStructure({0, 0, 0, 1, bad, 0}, {}, kIsolated), 5), HasSubstr("y of atom 2 is "));
  }
}

TEST(BruteForceTest, RefusesCellsThatCannotBeMeant) {
  const std::vector<double> r = {0, 0, 0};
  EXPECT_THAT(ErrorOf(MakeStructure(r, {}, kPeriodic), 5), HasSubstr("singular"));
  EXPECT_THAT(ErrorOf(MakeStructure(r, {5, 0, 0, 0, 0.004, 0, 0, 0, 5}, kPeriodic), 5),
              HasSubstr("0.004 Angstrom thick along lattice vector 2"));
  EXPECT_THAT(ErrorOf(MakeStructure(r, {0.2, 0, 0, 0, 0.2, 0, 0, 0, 0.2}, kPeriodic), 20), HasSubstr("images"));
}

TEST(BruteForceTest, RefusesAtomsTooNear) {
  const Matrix3 cell = {5, 0, 0, 0, 5, 0, 0, 0, 5};
  EXPECT_THAT(ErrorOf(MakeStructure({0, 0, 0, 2, 0, 0, 2.05, 0, 0}, cell, kPeriodic), 3),
              HasSubstr("atoms 2 and 3 are 0.05 Angstrom apart"));
  EXPECT_THAT(ErrorOf(MakeStructure({0, 0, 0, 0, 0, 0}, {}, kIsolated), 3), HasSubstr("atoms 1 and 2 are 0 Angstrom"));
  EXPECT_THAT(ErrorOf(MakeStructure({0, 0, 0, 4.95, 0, 0}, cell, kPeriodic), 3),
              HasSubstr("atoms 1 and 2 (image -1 0 0 of the cell) are 0.05 Angstrom apart"));
  EXPECT_THAT(ErrorOf(MakeStructure({0, 0, 0}, {5, 0, 0, 0, 5, 0, 0, 0, 0.05}, kPeriodic), 3),
              HasSubstr("atom 1 is 0.05 Angstrom from its own image"));
  // The pair is found even with a cutoff that would not list it.
  EXPECT_THAT(ErrorOf(MakeStructure({0, 0, 0, 0.09, 0, 0}, {}, kIsolated), 0.01), HasSubstr("atoms 1 and 2"));
}

TEST(BruteForceTest, RefusesShiftsThatOverflow) {
  EXPECT_THAT(ErrorOf(MakeStructure({0, 0, 0, 2, 70000, 0}, {2, 0, 0, 0, 2, 0, 0, 0, 2}, kPeriodic), 3),
              HasSubstr("atoms 1 and 2 are 35000 cells apart along lattice vector 2"));
}

}  // namespace
}  // namespace rutile
