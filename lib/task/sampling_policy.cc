#include "lib/task/sampling_policy.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "absl/types/span.h"

namespace rutile {
namespace {

constexpr double kSmallestError = 1e-12;

}  // namespace

std::vector<double> EnergyWeights(absl::Span<const double> energies) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double energy : energies) {
    if (std::isnan(energy)) continue;
    low = std::min(low, energy);
    high = std::max(high, energy);
  }
  std::vector<double> weights(energies.size(), 1.0);
  if (!(high > low)) return weights;
  double sum = 0, known = 0;
  for (size_t i = 0; i < energies.size(); ++i) {
    if (std::isnan(energies[i])) continue;
    weights[i] = 1 / (1 + (energies[i] - low) / (high - low));
    sum += weights[i];
    known += 1;
  }
  for (size_t i = 0; i < energies.size(); ++i) {
    if (std::isnan(energies[i])) weights[i] = sum / known;
  }
  return weights;
}

std::vector<double> ErrorWeights(absl::Span<const double> errors) {
  std::vector<double> weights;
  weights.reserve(errors.size());
  double sum = 0;
  for (const double error : errors) {
    weights.push_back(std::isnan(error) ? 1.0 : std::max(std::abs(error), kSmallestError));
    sum += weights.back();
  }
  for (double& weight : weights) weight *= static_cast<double>(errors.size()) / sum;
  return weights;
}

}  // namespace rutile
