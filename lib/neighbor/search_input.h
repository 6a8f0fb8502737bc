// Checks and prepares a structure for a neighbor search, and fixes the arithmetic on which all searches must agree.

#ifndef RUTILE_LIB_NEIGHBOR_SEARCH_INPUT_H_
#define RUTILE_LIB_NEIGHBOR_SEARCH_INPUT_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "lib/structure/cell.h"
#include "lib/structure/structure.h"

namespace rutile {

// The cell and fractional coordinates of a structure that passed those checks of NeighborSearch::Compute that need no
// pairs.
struct SearchInput {
  Matrix3 cell;                    // completed by unit normals where not periodic
  Vector3 width;                   // distance between lattice planes, Angstrom
  std::vector<double> fractional;  // [3N] of positions as given; Angstrom along directions that are not periodic
  Vector3 lowest, highest;         // extremes of `fractional`, 0 where there are no atoms
};

// Fills `input`, reusing its memory; `reach` is the search radius in Angstrom. Errors are those of
// NeighborSearch::Compute, and also more than kMostImages images of the cell within reach, and shifts that do not fit
// into int16.
absl::Status MakeSearchInput(const Structure& structure, double reach, SearchInput* input);

// Largest number of images. A cell so small or so skewed that it needs more is a mistake, and would take minutes per
// atom.
inline constexpr double kMostImages = 1e6;

// Returns the search radius: the cutoff, or more if the cutoff is too short to find pairs nearer than
// kSmallestDistance.
double SearchRadius(double cutoff);

// Returns shift . cell. All algorithms take their vectors from here and from r_ij = (r_j - r_i) + shift . cell, and
// squared lengths from (x x + y y) + z z, each operation rounded (no fused multiply-add), so that their lists are equal
// bit for bit and (i, j, shift) is exactly minus (j, i, -shift).
inline Vector3 ShiftVector(const Matrix3& cell, double sx, double sy, double sz) {
  return {(sx * cell[0] + sy * cell[3]) + sz * cell[6], (sx * cell[1] + sy * cell[4]) + sz * cell[7],
          (sx * cell[2] + sy * cell[5]) + sz * cell[8]};
}

// Returns INVALID_ARGUMENT naming two atoms (here counted from 0, in the message from 1) nearer than kSmallestDistance.
absl::Status TooNear(int64_t i, int64_t j, const int16_t shift[3], double squared_distance);

}  // namespace rutile

#endif  // RUTILE_LIB_NEIGHBOR_SEARCH_INPUT_H_
