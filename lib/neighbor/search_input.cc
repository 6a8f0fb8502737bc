#include "lib/neighbor/search_input.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/str_format.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/neighbor/neighbor_list.h"

namespace rutile {
namespace {

constexpr double kThinnest = 1000;        // largest ratio of cutoff and width
constexpr double kLargestPosition = 1e9;  // Angstrom: 10 cm, where doubles still resolve 1e-7 Angstrom

absl::Status BadPosition(const std::vector<double>& position) {
  for (int64_t k = 0; k < static_cast<int64_t>(position.size()); ++k) {
    if (!(std::abs(position[k]) <= kLargestPosition)) {
      return absl::InvalidArgumentError(
          absl::StrFormat("%c of atom %d is %g, expected a position in Angstrom of at most %g", "xyz"[k % 3], k / 3 + 1,
                          position[k], kLargestPosition));
    }
  }
  return absl::OkStatus();
}

// Checks all positions, cheaply enough for every structure; BadPosition then composes the message.
bool PositionsAreUsable(const std::vector<double>& position) {
  bool usable = true;
  for (double x : position) usable &= std::abs(x) <= kLargestPosition;
  return usable;
}

absl::Status CheckImages(const Vector3& width, const std::array<bool, 3>& pbc, double reach) {
  double images = 1;
  for (int k = 0; k < 3; ++k) {
    if (!pbc[k]) continue;
    if (reach > kThinnest * width[k]) {
      return absl::InvalidArgumentError(
          absl::StrFormat("the periodic cell is %.3g Angstrom thick along lattice vector %d, less than a thousandth of "
                          "the cutoff %g; correct the cell",
                          width[k], k + 1, reach));
    }
    images *= 2 * std::ceil(reach / width[k]) + 1;
  }
  if (images > kMostImages) {
    return absl::InvalidArgumentError(
        absl::StrFormat("cutoff %g reaches %.3g images of the periodic cell, which is %.3g x %.3g x %.3g Angstrom "
                        "thick, expected at most %g; correct the cell or shorten the cutoff",
                        reach, images, width[0], width[1], width[2], kMostImages));
  }
  return absl::OkStatus();
}

void FindExtremes(SearchInput* input) {
  input->lowest = {0, 0, 0};
  input->highest = {0, 0, 0};
  if (input->fractional.empty()) return;
  std::copy_n(input->fractional.begin(), 3, input->lowest.begin());
  input->highest = input->lowest;
  for (size_t i = 3; i < input->fractional.size(); i += 3) {
    for (int k = 0; k < 3; ++k) {
      input->lowest[k] = std::min(input->lowest[k], input->fractional[i + k]);
      input->highest[k] = std::max(input->highest[k], input->fractional[i + k]);
    }
  }
}

// Returns the atom whose fractional coordinate k has the given value.
int64_t AtomAt(const std::vector<double>& fractional, int k, double value) {
  for (size_t i = k; i < fractional.size(); i += 3) {
    if (fractional[i] == value) return static_cast<int64_t>(i / 3);
  }
  return 0;
}

absl::Status CheckShifts(const SearchInput& input, const std::array<bool, 3>& pbc, double reach) {
  for (int k = 0; k < 3; ++k) {
    const double apart = input.highest[k] - input.lowest[k];
    if (!pbc[k] || apart + reach / input.width[k] + 2 < std::numeric_limits<int16_t>::max()) continue;
    return absl::InvalidArgumentError(
        absl::StrFormat("atoms %d and %d are %.0f cells apart along lattice vector %d, and shifts go up to 32767; wrap "
                        "the positions into the cell",
                        AtomAt(input.fractional, k, input.lowest[k]) + 1,
                        AtomAt(input.fractional, k, input.highest[k]) + 1, apart, k + 1));
  }
  return absl::OkStatus();
}

}  // namespace

double SearchRadius(double cutoff) { return std::max(cutoff, kSmallestDistance); }

absl::Status MakeSearchInput(const Structure& structure, double reach, SearchInput* input) {
  const int64_t n = structure.size();
  CHECK_EQ(structure.position.size(), 3 * n);
  CHECK_LE(n, std::numeric_limits<int32_t>::max());
  if (!PositionsAreUsable(structure.position)) return BadPosition(structure.position);
  ASSIGN_OR_RETURN(input->cell, CompleteCell(structure.cell, structure.pbc));
  input->width = PlaneWidths(input->cell);
  RETURN_IF_ERROR(CheckImages(input->width, structure.pbc, reach));

  const Matrix3 inverse = InverseCell(input->cell);
  input->fractional.resize(3 * n);
  for (int64_t i = 0; i < n; ++i) {
    const double* r = &structure.position[3 * i];
    double* f = &input->fractional[3 * i];
    for (int k = 0; k < 3; ++k) f[k] = r[0] * inverse[k] + r[1] * inverse[3 + k] + r[2] * inverse[6 + k];
  }
  FindExtremes(input);
  return CheckShifts(*input, structure.pbc, reach);
}

absl::Status TooNear(int64_t i, int64_t j, const int16_t shift[3], double squared_distance) {
  const double distance = std::sqrt(squared_distance);
  const bool image = shift[0] != 0 || shift[1] != 0 || shift[2] != 0;
  const std::string where =
      image ? absl::StrFormat(" (image %d %d %d of the cell)", shift[0], shift[1], shift[2]) : std::string();
  if (i == j) {
    return absl::InvalidArgumentError(
        absl::StrFormat("atom %d is %.3g Angstrom from its own image%s, expected at least %g; correct the cell", i + 1,
                        distance, where, kSmallestDistance));
  }
  return absl::InvalidArgumentError(
      absl::StrFormat("atoms %d and %d%s are %.3g Angstrom apart, expected at least %g; remove one or correct the "
                      "positions",
                      i + 1, j + 1, where, distance, kSmallestDistance));
}

}  // namespace rutile
