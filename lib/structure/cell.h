// The geometry of a cell: rows of a Matrix3 are lattice vectors a, b, c in Angstrom.

#ifndef RUTILE_LIB_STRUCTURE_CELL_H_
#define RUTILE_LIB_STRUCTURE_CELL_H_

#include <array>

#include "absl/status/statusor.h"
#include "lib/structure/structure.h"

namespace rutile {

using Vector3 = std::array<double, 3>;

// Returns the volume |a . (b x c)| in cubic Angstrom.
double CellVolume(const Matrix3& cell);

// Returns the inverse matrix; fractional coordinates are position . inverse (row vector times matrix). The result is
// unspecified for a singular cell: pass the result of CompleteCell.
Matrix3 InverseCell(const Matrix3& cell);

// Returns the distances in Angstrom between neighboring lattice planes: [0] for the planes that b and c span, and so
// on. A sphere of radius R reaches at most ceil(R / width) cells far.
Vector3 PlaneWidths(const Matrix3& cell);

// Returns the cell with every row that is not periodic replaced by a unit vector normal to all other rows, so that it
// always has an inverse, and fractional coordinates along such a row are Angstrom. Without periodic directions it is
// the identity. INVALID_ARGUMENT: an element of a periodic row is not finite; periodic rows are (nearly) linearly
// dependent.
absl::StatusOr<Matrix3> CompleteCell(const Matrix3& cell, const std::array<bool, 3>& pbc);

}  // namespace rutile

#endif  // RUTILE_LIB_STRUCTURE_CELL_H_
