#include "lib/evaluation/deviation_check.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/logging.h"

namespace rutile {
namespace {

constexpr double kMilli = 1000;
constexpr int64_t kBins = 10;

// Errors and deviations of one quantity.
struct Pairs {
  std::vector<double> error, deviation;
  int64_t structures = 0;
  const StructurePrediction* last = nullptr;  // whose values came last

  void Add(const StructurePrediction& p, double e, double d) {
    if (!std::isfinite(e) || !std::isfinite(d)) return;
    if (last != &p) ++structures;
    last = &p;
    error.push_back(e);
    deviation.push_back(d);
  }
};

double Root(double sum, int64_t count) { return std::sqrt(sum / static_cast<double>(count)); }

void AppendIfAny(const Pairs& pairs, const char* quantity, const char* unit, const char* measure,
                 std::vector<DeviationCheck>* to) {
  if (pairs.error.empty()) return;
  to->push_back(CheckDeviations(pairs.error, pairs.deviation));
  to->back().structures = pairs.structures;
  to->back().quantity = quantity;
  to->back().unit = unit;
  to->back().measure = measure;
}

}  // namespace

DeviationCheck CheckDeviations(absl::Span<const double> error, absl::Span<const double> deviation) {
  CHECK_EQ(error.size(), deviation.size());
  CHECK(!error.empty());
  DeviationCheck found;
  const auto n = static_cast<int64_t>(error.size());
  found.count = n;
  double errors = 0, deviations = 0, mean_error = 0, mean_deviation = 0;
  int64_t within_1 = 0, within_2 = 0;
  for (int64_t k = 0; k < n; ++k) {
    const double e = std::abs(error[k]), d = deviation[k];
    errors += e * e;
    deviations += d * d;
    mean_error += e / static_cast<double>(n);
    mean_deviation += d / static_cast<double>(n);
    within_1 += e <= d ? 1 : 0;
    within_2 += e <= 2 * d ? 1 : 0;
  }
  found.rmse = Root(errors, n);
  found.rms_deviation = Root(deviations, n);
  found.within_1 = static_cast<double>(within_1) / static_cast<double>(n);
  found.within_2 = static_cast<double>(within_2) / static_cast<double>(n);
  double product = 0, square_error = 0, square_deviation = 0;
  for (int64_t k = 0; k < n; ++k) {
    const double e = std::abs(error[k]) - mean_error, d = deviation[k] - mean_deviation;
    product += e * d;
    square_error += e * e;
    square_deviation += d * d;
  }
  found.correlation = product / std::sqrt(square_error * square_deviation);
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return deviation[a] < deviation[b]; });
  const int64_t num_bins = std::min(n, kBins);
  for (int64_t b = 0; b < num_bins; ++b) {
    const int64_t begin = b * n / num_bins, end = (b + 1) * n / num_bins;
    double e = 0, d = 0;
    for (int64_t k = begin; k < end; ++k) {
      e += error[order[k]] * error[order[k]];
      d += deviation[order[k]] * deviation[order[k]];
    }
    found.bins.push_back({Root(d, end - begin), Root(e, end - begin)});
  }
  return found;
}

std::vector<DeviationCheck> DeviationChecksOf(absl::Span<const StructurePrediction> predictions) {
  Pairs energy, force, energy_spread, force_spread;
  for (const StructurePrediction& p : predictions) {
    if (p.isolated) continue;
    const double milli_per_atom = kMilli / static_cast<double>(p.num_atoms);
    const double error = milli_per_atom * (p.predicted_energy - p.reference_energy);
    if (p.energy_std.has_value()) energy.Add(p, error, milli_per_atom * *p.energy_std);
    if (p.energy_spread.has_value()) energy_spread.Add(p, error, milli_per_atom * *p.energy_spread);
    if (!p.has_force_errors()) continue;
    for (size_t c = 0; c < p.predicted_force.size(); ++c) {
      const double component = p.predicted_force[c] - p.reference_force[c];
      if (!p.force_std.empty()) force.Add(p, component, p.force_std[c]);
      if (!p.force_spread.empty()) force_spread.Add(p, component, p.force_spread[c / 3] / std::sqrt(3.0));
    }
  }
  std::vector<DeviationCheck> found;
  AppendIfAny(energy, "energy", "meV/atom", "uncertainty", &found);
  AppendIfAny(energy_spread, "energy", "meV/atom", "spread", &found);
  AppendIfAny(force, "force", "eV/Å", "uncertainty", &found);
  AppendIfAny(force_spread, "force", "eV/Å", "spread", &found);
  return found;
}

std::string DescribeDeviationCheck(const DeviationCheck& c) {
  return absl::StrFormat(
      "%s: rmse %.4g %s, root mean square %s %.4g; %.1f %% of %d errors%s are within it and %.1f %% within twice it "
      "(normal: 68.3 and 95.4); correlation with |error| %.2f",
      c.quantity, c.rmse, c.unit, c.measure, c.rms_deviation, 100 * c.within_1, c.count,
      c.structures == 0 ? "" : absl::StrCat(" in ", c.structures, " structures"), 100 * c.within_2, c.correlation);
}

}  // namespace rutile
