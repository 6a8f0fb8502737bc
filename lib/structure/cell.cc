#include "lib/structure/cell.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"

namespace rutile {
namespace {

// Returns a sine-like measure of how far three vectors are from a plane: their volume over the product of their
// lengths.
constexpr double kSmallestRelativeVolume = 1e-10;

Vector3 Row(const Matrix3& m, int k) { return {m[3 * k], m[3 * k + 1], m[3 * k + 2]}; }

void SetRow(const Vector3& v, int k, Matrix3* m) { std::copy(v.begin(), v.end(), m->begin() + 3 * k); }

double Dot(const Vector3& a, const Vector3& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

double Length(const Vector3& a) { return std::sqrt(Dot(a, a)); }

Vector3 Scaled(const Vector3& a, double s) { return {a[0] * s, a[1] * s, a[2] * s}; }

Vector3 Cross(const Vector3& a, const Vector3& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

// Returns the coordinate axis that is farthest from the direction of a.
Vector3 FarthestAxis(const Vector3& a) {
  int axis = 0;
  for (int k = 1; k < 3; ++k) {
    if (std::abs(a[k]) < std::abs(a[axis])) axis = k;
  }
  Vector3 e = {};
  e[axis] = 1;
  return e;
}

absl::Status SingularCell(const Matrix3& cell, const std::array<bool, 3>& pbc) {
  std::string rows;
  for (int k = 0; k < 3; ++k) {
    if (pbc[k]) absl::StrAppendFormat(&rows, " (%.10g %.10g %.10g)", cell[3 * k], cell[3 * k + 1], cell[3 * k + 2]);
  }
  return absl::InvalidArgumentError(
      absl::StrFormat("the periodic cell is singular: lattice vectors%s are zero or linearly dependent; "
                      "correct the cell, or mark the direction as not periodic",
                      rows));
}

}  // namespace

double CellVolume(const Matrix3& cell) { return std::abs(Dot(Row(cell, 0), Cross(Row(cell, 1), Row(cell, 2)))); }

Matrix3 InverseCell(const Matrix3& cell) {
  const Vector3 a = Row(cell, 0), b = Row(cell, 1), c = Row(cell, 2);
  const double scale = 1 / Dot(a, Cross(b, c));
  const Vector3 columns[3] = {Scaled(Cross(b, c), scale), Scaled(Cross(c, a), scale), Scaled(Cross(a, b), scale)};
  Matrix3 inverse;
  for (int row = 0; row < 3; ++row) {
    for (int k = 0; k < 3; ++k) inverse[3 * row + k] = columns[k][row];
  }
  return inverse;
}

Vector3 PlaneWidths(const Matrix3& cell) {
  const double volume = CellVolume(cell);
  Vector3 width;
  for (int k = 0; k < 3; ++k) width[k] = volume / Length(Cross(Row(cell, (k + 1) % 3), Row(cell, (k + 2) % 3)));
  return width;
}

absl::StatusOr<Matrix3> CompleteCell(const Matrix3& cell, const std::array<bool, 3>& pbc) {
  const int periodic = pbc[0] + pbc[1] + pbc[2];
  Matrix3 complete = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  for (int k = 0; k < 3; ++k) {
    if (!pbc[k]) continue;
    for (int c = 0; c < 3; ++c) {
      if (!std::isfinite(cell[3 * k + c])) {
        return absl::InvalidArgumentError(
            absl::StrFormat("element %d of lattice vector %d is %g, expected a finite length in Angstrom", c + 1, k + 1,
                            cell[3 * k + c]));
      }
    }
    SetRow(Row(cell, k), k, &complete);
  }
  if (periodic == 1) {
    const int k = pbc[0] ? 0 : pbc[1] ? 1 : 2;
    const Vector3 a = Row(cell, k);
    if (Length(a) == 0) return SingularCell(cell, pbc);
    const Vector3 u = Cross(a, FarthestAxis(a));
    const Vector3 v = Cross(a, u);
    SetRow(Scaled(u, 1 / Length(u)), (k + 1) % 3, &complete);
    SetRow(Scaled(v, 1 / Length(v)), (k + 2) % 3, &complete);
  } else if (periodic == 2) {
    const int k = !pbc[0] ? 0 : !pbc[1] ? 1 : 2;
    const Vector3 a = Row(cell, (k + 1) % 3), b = Row(cell, (k + 2) % 3);
    const Vector3 normal = Cross(a, b);
    if (!(Length(normal) > kSmallestRelativeVolume * Length(a) * Length(b))) return SingularCell(cell, pbc);
    SetRow(Scaled(normal, 1 / Length(normal)), k, &complete);
  }
  const double lengths = Length(Row(complete, 0)) * Length(Row(complete, 1)) * Length(Row(complete, 2));
  if (!(CellVolume(complete) > kSmallestRelativeVolume * lengths)) return SingularCell(cell, pbc);
  return complete;
}

}  // namespace rutile
