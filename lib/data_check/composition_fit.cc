#include "lib/data_check/composition_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "lib/data_check/median.h"

namespace rutile {
namespace {

constexpr int kIterations = 30;
constexpr double kSmallestResidual = 1e-4;  // eV per atom; bounds the weights
constexpr double kRidge = 1e-9;             // relative to the mean of the diagonal: decides where data does not

// Solves the symmetric positive definite system a x = b by elimination. a: [n, n], b: [n], both overwritten.
std::vector<double> Solve(std::vector<double> a, std::vector<double> b) {
  const size_t n = b.size();
  for (size_t k = 0; k < n; ++k) {
    for (size_t i = k + 1; i < n; ++i) {
      const double factor = a[i * n + k] / a[k * n + k];
      for (size_t j = k; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
      b[i] -= factor * b[k];
    }
  }
  for (size_t k = n; k-- > 0;) {
    for (size_t j = k + 1; j < n; ++j) b[k] -= a[k * n + j] * b[j];
    b[k] /= a[k * n + k];
  }
  return b;
}

// One energy per atom, with the shares of the elements.
struct Row {
  std::vector<std::pair<int, double>> share;  // index of the element, share of the atoms
  double energy = 0;                          // eV per atom, less the median of all
  double residual = 0;
};

Row MakeRow(const FrameFacts& frame, const std::vector<uint8_t>& elements) {
  Row row;
  for (const auto& [element, count] : frame.composition) {
    const auto found = std::lower_bound(elements.begin(), elements.end(), element);
    row.share.emplace_back(found - elements.begin(), static_cast<double>(count) / static_cast<double>(frame.atoms));
  }
  return row;
}

// One step: least squares with weights 1 / |residual| (1 in the first step), which then sets the residuals.
std::vector<double> Step(bool first, size_t num_elements, std::vector<Row>* rows) {
  std::vector<double> a(num_elements * num_elements), b(num_elements);
  for (const Row& row : *rows) {
    const double weight = first ? 1 : 1 / std::max(std::abs(row.residual), kSmallestResidual);
    for (const auto& [i, x] : row.share) {
      for (const auto& [j, y] : row.share) a[i * num_elements + j] += weight * x * y;
      b[i] += weight * x * row.energy;
    }
  }
  double trace = 0;
  for (size_t i = 0; i < num_elements; ++i) trace += a[i * num_elements + i];
  for (size_t i = 0; i < num_elements; ++i) {
    a[i * num_elements + i] += kRidge * trace / static_cast<double>(num_elements);
  }
  std::vector<double> energies = Solve(std::move(a), std::move(b));
  for (Row& row : *rows) {
    row.residual = row.energy;
    for (const auto& [i, x] : row.share) row.residual -= x * energies[i];
  }
  return energies;
}

}  // namespace

CompositionFit FitCompositions(absl::Span<const FrameFacts> frames) {
  CompositionFit fit;
  fit.residual.assign(frames.size(), std::numeric_limits<double>::quiet_NaN());
  std::set<uint8_t> found;
  std::vector<size_t> used;
  std::vector<double> per_atom;
  for (size_t f = 0; f < frames.size(); ++f) {
    if (!frames[f].energy.has_value() || frames[f].is_isolated_atom) continue;
    used.push_back(f);
    per_atom.push_back(frames[f].energy_per_atom());
    for (const auto& [element, count] : frames[f].composition) found.insert(element);
  }
  if (used.size() < found.size() + 3) return fit;
  const std::vector<uint8_t> elements(found.begin(), found.end());
  const double middle = Median(per_atom);
  std::vector<Row> rows;
  for (size_t u = 0; u < used.size(); ++u) {
    rows.push_back(MakeRow(frames[used[u]], elements));
    rows.back().energy = per_atom[u] - middle;
  }
  std::vector<double> energies;
  for (int i = 0; i < kIterations; ++i) energies = Step(i == 0, elements.size(), &rows);
  std::vector<double> sizes;
  for (size_t u = 0; u < used.size(); ++u) {
    fit.residual[used[u]] = rows[u].residual;
    sizes.push_back(std::abs(rows[u].residual));
  }
  fit.median = Median(std::move(sizes));
  fit.fitted = static_cast<int64_t>(used.size());
  for (size_t e = 0; e < elements.size(); ++e) fit.atomic_energies[elements[e]] = energies[e] + middle;
  return fit;
}

}  // namespace rutile
