// The geometry of a cell: rows of a Matrix3 are lattice vectors a, b, c in Angstrom.

#ifndef RUTILE_LIB_STRUCTURE_CELL_H_
#define RUTILE_LIB_STRUCTURE_CELL_H_

#include <array>

#include "absl/status/statusor.h"
#include "lib/structure/structure.h"

namespace rutile {

using Vector3 = std::array<double, 3>;

// |a . (b x c)| in cubic Angstrom.
double CellVolume(const Matrix3& cell);

// Fractional coordinates are position . inverse (row vector times matrix). Nonsense where the cell is singular: use
// what CompleteCell returned.
Matrix3 InverseCell(const Matrix3& cell);

// Distance in Angstrom between neighboring lattice planes: [0] between those that b and c span, and so on. A sphere of
// radius R reaches at most ceil(R / width) cells far.
Vector3 PlaneWidths(const Matrix3& cell);

// The cell with every row that is not periodic replaced by a unit vector normal to all other rows, so that it always
// has an inverse and fractional coordinates along such a row are Angstrom. The identity where nothing is periodic.
// INVALID_ARGUMENT: an element of a periodic row is not finite; periodic rows that are (nearly) linearly dependent.
absl::StatusOr<Matrix3> CompleteCell(const Matrix3& cell, const std::array<bool, 3>& pbc);

}  // namespace rutile

#endif  // RUTILE_LIB_STRUCTURE_CELL_H_
