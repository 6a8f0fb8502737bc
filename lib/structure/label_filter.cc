#include "lib/structure/label_filter.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lib/base/decimal.h"

namespace rutile {
namespace {

constexpr double kNone =
    std::numeric_limits<double>::infinity();  // minus infinity is a limit: it leaves out everything

}  // namespace

bool IsIsolatedAtom(int64_t num_atoms, absl::string_view config_type) {
  return num_atoms == 1 && absl::EqualsIgnoreCase(config_type, "IsolatedAtom");
}

void LabelFilter::Range::Add(double value) {
  low = std::min(low, value);
  high = std::max(high, value);
}

std::string LabelFilter::Range::Describe() const { return absl::StrCat(Decimal(low, 4), " to ", Decimal(high, 4)); }

bool LabelFilter::LeavesOut(std::optional<double> energy, absl::Span<const double> force) {
  bool above = false;
  if (max_energy_ < kNone && energy.has_value()) {
    energy_.Add(*energy);
    above = *energy > max_energy_;
  }
  if (max_forces_ < kNone && !force.empty()) {
    double largest = 0;
    for (const double f : force) largest = std::max(largest, std::abs(f));
    largest_force_.Add(largest);
    above = above || largest > max_forces_;
  }
  return above;
}

std::string LabelFilter::Describe() const {
  std::string text;
  if (max_energy_ < kNone) {
    absl::StrAppend(&text, "--max_energy=", max_energy_, ", compared with energies per atom ",
                    less_atomic_energies_ ? "less the atomic energies" : "as given: no atomic energies are subtracted");
    if (energy_.low < kNone) absl::StrAppend(&text, " (here ", energy_.Describe(), " eV)");
  }
  if (max_forces_ < kNone) {
    absl::StrAppend(&text, text.empty() ? "" : ", and by ", "--max_forces=", max_forces_);
    if (largest_force_.low < kNone) {
      absl::StrAppend(&text, " (the largest components are ", largest_force_.Describe(), " eV/Angstrom)");
    }
  }
  return text;
}

}  // namespace rutile
