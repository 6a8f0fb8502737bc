#include "lib/potential/model/labels/scaling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "lib/base/logging.h"

namespace rutile {
namespace {

constexpr double kVarianceFloor = 1e-12;
constexpr double kConstant = 1e-8;  // relative to the feature's size
// sixteen times the precision of a float, relative to the feature's size or to 1 if that is larger: small features are
// sums of larger terms that cancel
constexpr double kConstantSingle = 1e-6;
constexpr double kRank = 1e-10;  // relative to the largest eigenvalue
constexpr double kEqual = 1e-9;  // relative to an energy per atom; the least eigenvalue leaves 1e-11 of it

// Computes eigenvalues and eigenvectors (columns of v) of the symmetric n x n matrix a by Jacobi rotations, which suit
// the small n, a number of species.
void JacobiEigen(int n, std::vector<double>* a, std::vector<double>* v) {
  v->assign(n * n, 0.0);
  for (int i = 0; i < n; ++i) (*v)[i * n + i] = 1;
  auto& m = *a;
  for (int sweep = 0; sweep < 100; ++sweep) {
    double off = 0, diagonal = 0;
    for (int p = 0; p < n; ++p) {
      diagonal += m[p * n + p] * m[p * n + p];
      for (int q = p + 1; q < n; ++q) off += m[p * n + q] * m[p * n + q];
    }
    if (off <= 1e-32 * diagonal) return;
    for (int p = 0; p < n; ++p) {
      for (int q = p + 1; q < n; ++q) {
        if (m[p * n + q] == 0) continue;
        const double theta = (m[q * n + q] - m[p * n + p]) / (2 * m[p * n + q]);
        const double t = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        const double c = 1 / std::sqrt(t * t + 1), s = t * c;
        for (int k = 0; k < n; ++k) {
          const double kp = m[k * n + p], kq = m[k * n + q];
          m[k * n + p] = c * kp - s * kq;
          m[k * n + q] = s * kp + c * kq;
        }
        for (int k = 0; k < n; ++k) {
          const double pk = m[p * n + k], qk = m[q * n + k];
          m[p * n + k] = c * pk - s * qk;
          m[q * n + k] = s * pk + c * qk;
        }
        for (int k = 0; k < n; ++k) {
          const double kp = (*v)[k * n + p], kq = (*v)[k * n + q];
          (*v)[k * n + p] = c * kp - s * kq;
          (*v)[k * n + q] = s * kp + c * kq;
        }
      }
    }
  }
}

}  // namespace

std::vector<int> FeatureScaling::ConstantFeatures(int species) const {
  std::vector<int> constant;
  for (int f = 0; f < num_features; ++f) {
    if (scale[species * num_features + f] == 0) constant.push_back(f);
  }
  return constant;
}

double FeatureScaling::Magnification() const {
  double largest = 0;
  for (size_t i = 0; i < mean.size(); ++i) largest = std::max(largest, std::abs(mean[i]) * scale[i]);
  return largest;
}

FeatureStatistics::FeatureStatistics(FeatureScalingKind kind, int num_species, int num_features)
    : kind_(kind), num_species_(num_species), num_features_(num_features) {
  const int groups = kind == FeatureScalingKind::kPerSpecies ? num_species : 1;
  weight_.assign(groups, 0);
  shift_.assign(groups * num_features, 0);
  sum_.assign(groups * num_features, 0);
  square_.assign(groups * num_features, 0);
  range_.min.assign(num_species * num_features, std::numeric_limits<double>::infinity());
  range_.max.assign(num_species * num_features, -std::numeric_limits<double>::infinity());
}

template <typename T>
void FeatureStatistics::AddAtom(uint8_t species, const T* features, double weight) {
  if (weight == 0) return;  // before NaN features are added, or an ignored atom sets the shift
  if (std::is_same<T, float>::value) is_single_ = true;
  const int group = kind_ == FeatureScalingKind::kPerSpecies ? species : 0;
  double* const shift = &shift_[group * num_features_];
  double* const sum = &sum_[group * num_features_];
  double* const square = &square_[group * num_features_];
  if (weight_[group] == 0) std::copy_n(features, num_features_, shift);
  weight_[group] += weight;
  for (int f = 0; f < num_features_; ++f) {
    const double d = features[f] - shift[f];
    sum[f] += weight * d;
    square[f] += weight * d * d;
  }
  double* const min = &range_.min[species * num_features_];
  double* const max = &range_.max[species * num_features_];
  for (int f = 0; f < num_features_; ++f) {
    const double x = features[f];
    min[f] = x < min[f] ? x : min[f];
    max[f] = x > max[f] ? x : max[f];
  }
}

bool FeatureStatistics::IsConstant(double deviation, double mean) const {
  if (deviation == 0 || deviation <= kConstant * std::abs(mean)) return true;
  return is_single_ && deviation <= kConstantSingle * std::max(1.0, std::abs(mean));
}

FeatureScaling FeatureStatistics::Result() const {
  FeatureScaling result;
  result.num_species = num_species_;
  result.num_features = num_features_;
  result.mean.assign(num_species_ * num_features_, 0);
  result.scale.assign(num_species_ * num_features_, 1);
  if (kind_ == FeatureScalingKind::kNone) return result;
  for (int s = 0; s < num_species_; ++s) {
    const int group = kind_ == FeatureScalingKind::kPerSpecies ? s : 0;
    const double n = weight_[group];
    for (int f = 0; f < num_features_; ++f) {
      const int from = group * num_features_ + f, to = s * num_features_ + f;
      if (n == 0) {
        result.scale[to] = 0;
        continue;
      }
      const double mean_shifted = sum_[from] / n;
      const double variance = std::max(0.0, square_[from] / n - mean_shifted * mean_shifted);
      result.mean[to] = shift_[from] + mean_shifted;
      const bool constant = IsConstant(std::sqrt(variance), result.mean[to]);
      result.scale[to] = constant ? 0 : 1 / std::sqrt(variance + kVarianceFloor);
    }
  }
  return result;
}

bool EnergiesAreEqual(absl::Span<const double> energies_per_atom, double size) {
  if (energies_per_atom.empty()) return true;
  const auto [low, high] = std::minmax_element(energies_per_atom.begin(), energies_per_atom.end());
  return *high - *low <= kEqual * std::max(1.0, size);
}

EnergyScaling ScaleEnergies(absl::Span<const double> energies_per_atom, double size) {
  EnergyScaling result;
  if (energies_per_atom.empty()) return result;
  const auto [low, high] = std::minmax_element(energies_per_atom.begin(), energies_per_atom.end());
  result.shift = 0.5 * (*low + *high);
  if (!EnergiesAreEqual(energies_per_atom, size)) result.scale = 2 / (*high - *low);
  return result;
}

std::vector<double> FitAtomicEnergies(absl::Span<const double> energies, absl::Span<const int64_t> counts,
                                      int num_species, absl::Span<const double> weights) {
  const int n = num_species;
  const int64_t structures = static_cast<int64_t>(energies.size());
  CHECK_EQ(static_cast<int64_t>(counts.size()), structures * n);
  CHECK(weights.empty() || weights.size() == energies.size());
  std::vector<double> normal(n * n, 0.0), right(n, 0.0), x(n);
  for (int64_t s = 0; s < structures; ++s) {
    const double weight = weights.empty() ? 1 : weights[s];
    if (weight == 0) continue;  // skipped, because 0 times an energy that is not finite is not 0
    double atoms = 0;
    for (int i = 0; i < n; ++i) atoms += static_cast<double>(counts[s * n + i]);
    for (int i = 0; i < n; ++i) x[i] = static_cast<double>(counts[s * n + i]) / atoms;
    const double e = energies[s] / atoms;
    for (int i = 0; i < n; ++i) {
      right[i] += weight * x[i] * e;
      for (int k = 0; k < n; ++k) normal[i * n + k] += weight * x[i] * x[k];
    }
  }
  std::vector<double> vectors;
  JacobiEigen(n, &normal, &vectors);
  double largest = 0;
  for (int i = 0; i < n; ++i) largest = std::max(largest, normal[i * n + i]);
  std::vector<double> fitted(n, 0.0);
  for (int k = 0; k < n; ++k) {  // pseudo-inverse: directions without data stay 0
    const double eigenvalue = normal[k * n + k];
    if (eigenvalue <= kRank * largest) continue;
    double projection = 0;
    for (int i = 0; i < n; ++i) projection += vectors[i * n + k] * right[i];
    for (int i = 0; i < n; ++i) fitted[i] += vectors[i * n + k] * projection / eigenvalue;
  }
  return fitted;
}

template void FeatureStatistics::AddAtom<float>(uint8_t, const float*, double);
template void FeatureStatistics::AddAtom<double>(uint8_t, const double*, double);

}  // namespace rutile
