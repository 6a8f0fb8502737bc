#include "lib/structure/key_conflicts.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace rutile {
namespace {

constexpr double kSame = 1e-5;  // largest difference of equal numbers: eV, eV/Angstrom, eV/Angstrom^3
constexpr double kSameShare = 1e-3;

}  // namespace

void KeyConflicts::Describe(Quantity quantity, int64_t line, absl::string_view used, absl::string_view other,
                            absl::string_view remedy) {
  first_[quantity] = {line, absl::StrCat(used, ", but ", other), std::string(remedy)};
}

std::vector<std::string> KeyConflicts::Messages(absl::string_view path, int64_t num_frames) const {
  std::vector<std::string> messages;
  for (int quantity = 0; quantity < kQuantities; ++quantity) {
    const First& first = first_[quantity];
    if (counts_[quantity] == 0) continue;
    const std::string frames = counts_[quantity] == 1
                                   ? absl::StrCat("in this one of ", num_frames, " frames")
                                   : absl::StrCat("in ", counts_[quantity], " of ", num_frames, " frames, this first");
    messages.push_back(
        absl::StrCat(path, ":", first.line, ": ", first.text, ", ", frames, "; the former is used, ", first.remedy));
  }
  return messages;
}

bool SameNumber(double a, double b) { return std::abs(a - b) <= kSame; }

int DifferingComponent(const Matrix3& a, const Matrix3& b) {
  double largest = 0;
  for (int k = 0; k < 9; ++k) largest = std::max({largest, std::abs(a[k]), std::abs(b[k])});
  for (int k = 0; k < 9; ++k) {
    if (std::abs(a[k] - b[k]) > kSame + kSameShare * largest) return k;
  }
  return -1;
}

absl::string_view ComponentName(int component) {
  static constexpr absl::string_view kNames[] = {"xx", "xy", "xz", "yx", "yy", "yz", "zx", "zy", "zz"};
  return kNames[component];
}

}  // namespace rutile
