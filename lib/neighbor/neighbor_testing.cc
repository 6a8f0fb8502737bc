#include "lib/neighbor/neighbor_testing.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "lib/base/logging.h"
#include "lib/structure/cell.h"

namespace rutile {
namespace {

constexpr double kFree = 0.5;  // free radius around each atom, Angstrom

// Returns the distance of two fractional positions, the smallest over 27 images; or a lower bound of it if the lattice
// planes already show that it is more than kFree.
double NearestDistance(const Matrix3& cell, const Vector3& width, const std::array<bool, 3>& pbc, const double* f,
                       const double* g) {
  double d[3];
  for (int k = 0; k < 3; ++k) {
    d[k] = f[k] - g[k] - (pbc[k] ? std::round(f[k] - g[k]) : 0);
    if (std::abs(d[k]) * width[k] > kFree) return std::abs(d[k]) * width[k];
  }
  double nearest = 1e300;
  for (int image = 0; image < 27; ++image) {
    const int s[3] = {image / 9 - 1, image / 3 % 3 - 1, image % 3 - 1};
    double e[3];
    for (int k = 0; k < 3; ++k) e[k] = d[k] + (pbc[k] ? s[k] : 0);
    double r2 = 0;
    for (int c = 0; c < 3; ++c) {
      const double x = e[0] * cell[c] + e[1] * cell[3 + c] + e[2] * cell[6 + c];
      r2 += x * x;
    }
    nearest = std::min(nearest, std::sqrt(r2));
  }
  return nearest;
}

}  // namespace

Structure MakeStructure(const std::vector<double>& position, const Matrix3& cell, const std::array<bool, 3>& pbc) {
  Structure structure;
  structure.position = position;
  structure.element.assign(position.size() / 3, 22);
  structure.cell = cell;
  structure.pbc = pbc;
  return structure;
}

Structure RandomStructure(int num_atoms, const Matrix3& cell, const std::array<bool, 3>& pbc, double outside,
                          RandomStream* random) {
  const Vector3 width = PlaneWidths(cell);
  std::vector<double> fractional, position;
  for (int tries = 0; static_cast<int>(fractional.size()) < 3 * num_atoms; ++tries) {
    CHECK_LT(tries, 1000 * num_atoms) << "the cell is too small";
    double f[3];
    for (double& x : f) x = random->Uniform(-outside, 1 + outside);
    bool free = true;
    for (size_t g = 0; g < fractional.size() && free; g += 3) {
      free = NearestDistance(cell, width, pbc, f, &fractional[g]) > kFree;
    }
    if (!free) continue;
    fractional.insert(fractional.end(), f, f + 3);
    for (int c = 0; c < 3; ++c) position.push_back(f[0] * cell[c] + f[1] * cell[3 + c] + f[2] * cell[6 + c]);
  }
  return MakeStructure(position, cell, pbc);
}

void ExpectEqual(const NeighborList& found, const NeighborList& expected) {
  EXPECT_EQ(found.offset, expected.offset);
  EXPECT_TRUE(found.j == expected.j);
  EXPECT_TRUE(found.shift == expected.shift);
  EXPECT_TRUE(found.dx == expected.dx);
  EXPECT_TRUE(found.dy == expected.dy);
  EXPECT_TRUE(found.dz == expected.dz);
  // Compilers may contract a product and a sum in one place and not in another, so this value may differ by a few ulps.
  EXPECT_DOUBLE_EQ(found.nearest_squared, expected.nearest_squared);
}

}  // namespace rutile
