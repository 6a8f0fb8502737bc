#include "lib/potential/model/labels/label_range.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/task/precision.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {
namespace {

// Up to these limits, squares summed over many components stay below 3.4e38 and 1.8e308.
double Limit(DType precision) { return precision == DType::kF32 ? 1e17 : 1e150; }

// Compares magnitudes; NaN is larger than any value.
bool IsLarger(double value, double than) { return !(std::abs(value) <= than); }

absl::Status TooLarge(const AtomicData& data, int64_t s, absl::string_view what, double value, absl::string_view unit,
                      DType precision) {
  return absl::InvalidArgumentError(
      absl::StrCat(data.name(s), ": ", what, value, " ", unit, ", whose square ",
                   kPrecisionNames.Name(PrecisionOf(precision)), " cannot learn from (the limit is ", Limit(precision),
                   "): correct it, or leave the structure out, as --max_energy and --max_forces do"));
}

absl::Status CheckComponents(const AtomicData& data, int64_t s, absl::Span<const double> values, absl::string_view what,
                             absl::string_view unit, DType precision) {
  for (const double value : values) {
    if (IsLarger(value, Limit(precision))) return TooLarge(data, s, what, value, unit, precision);
  }
  return absl::OkStatus();
}

int64_t Farthest(absl::Span<const double> targets, absl::Span<const int64_t> structures) {
  int64_t worst = structures[0];
  for (const int64_t s : structures) {
    if (IsLarger(targets[s], std::abs(targets[worst]))) worst = s;
  }
  return worst;
}

}  // namespace

absl::Status CheckLabelRange(const AtomicData& data, absl::Span<const double> targets,
                             const AtomisticTaskOptions& options, absl::Span<const int64_t> structures) {
  if (structures.empty()) return absl::OkStatus();
  std::vector<int64_t> with_energy;
  std::copy_if(structures.begin(), structures.end(), std::back_inserter(with_energy),
               [&](int64_t s) { return data.has_energy(s); });
  const int64_t worst = with_energy.empty() ? -1 : Farthest(targets, with_energy);
  if (worst >= 0 && IsLarger(targets[worst], Limit(options.precision))) {
    return TooLarge(
        data, worst,
        absl::StrCat("its energy, ", data.energy(worst), " eV", options.zbl.is_on() ? " without the repulsion" : "",
                     ", is far from the atomic energies: by "),
        targets[worst], "eV per atom", options.precision);
  }
  for (const int64_t s : structures) {
    absl::Status status;
    if (options.loss.force_weight > 0) {
      status = CheckComponents(data, s, data.force(s), "a force component is ", "eV/Angstrom", options.precision);
    }
    if (status.ok() && options.loss.stress_weight > 0) {
      status = CheckComponents(data, s, data.stress(s), "a stress component is ", "eV/Angstrom^3", options.precision);
    }
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

std::optional<FitOutlier> FindFitOutlier(absl::Span<const double> targets, absl::Span<const int64_t> structures) {
  if (structures.empty()) return std::nullopt;
  FitOutlier found;
  found.structure = Farthest(targets, structures);
  found.residual = targets[found.structure];
  if (!IsLarger(found.residual, FitOutlier::kLimit)) return std::nullopt;
  std::vector<double> sizes;
  for (const int64_t s : structures) {
    sizes.push_back(std::abs(targets[s]));
    found.beyond += IsLarger(targets[s], FitOutlier::kLimit);
  }
  const auto middle = sizes.begin() + static_cast<int64_t>(sizes.size() / 2);
  std::nth_element(sizes.begin(), middle, sizes.end());
  found.median = *middle;
  return found;
}

}  // namespace rutile
