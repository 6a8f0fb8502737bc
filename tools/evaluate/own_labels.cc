#include "tools/evaluate/own_labels.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace rutile {
namespace {

constexpr double kSameEnergy = 1e-5;  // eV/atom
constexpr double kSameForce = 1e-4;   // eV/Angstrom
constexpr double kSameStress = 1e-5;  // eV/Angstrom^3
// Forces below this may vanish by symmetry, in any model.
constexpr double kTellingForce = 0.01;  // eV/Angstrom

enum class Agreement {
  kNoLabels,  // nothing to compare, or a single atom
  kDiffers,
  kSame,       // as far as that can be said
  kSameForces  // no other model predicts the same
};

double LargestOf(absl::Span<const double> values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

// False for values that are not finite.
bool AreWithin(absl::Span<const double> a, absl::Span<const double> b, double tolerance) {
  for (size_t c = 0; c < a.size(); ++c) {
    if (!(std::abs(a[c] - b[c]) <= tolerance)) return false;
  }
  return true;
}

Agreement Compare(const StructurePrediction& p) {
  const bool has_energy = !std::isnan(p.reference_energy);
  if (p.num_atoms < 2 || (!has_energy && !p.has_force_errors() && !p.has_stress_errors())) return Agreement::kNoLabels;
  if (has_energy && !(std::abs(p.predicted_energy - p.reference_energy) <= kSameEnergy * p.num_atoms)) {
    return Agreement::kDiffers;
  }
  if (p.has_stress_errors() && !AreWithin(*p.reference_stress, *p.predicted_stress, kSameStress)) {
    return Agreement::kDiffers;
  }
  if (!p.has_force_errors()) return Agreement::kSame;
  const double largest = LargestOf(p.predicted_force);
  if (!AreWithin(p.reference_force, p.predicted_force, kSameForce * std::max(1.0, largest))) {
    return Agreement::kDiffers;
  }
  return largest > kTellingForce ? Agreement::kSameForces : Agreement::kSame;
}

}  // namespace

std::vector<bool> LabelsThatArePredictions(absl::Span<const StructurePrediction> predictions) {
  std::vector<Agreement> agreements;
  int64_t labeled = 0, differ = 0;
  for (const StructurePrediction& p : predictions) {
    agreements.push_back(Compare(p));
    labeled += agreements.back() != Agreement::kNoLabels;
    differ += agreements.back() == Agreement::kDiffers;
  }
  const bool all_same = differ == 0 && labeled > 1;
  std::vector<bool> are_own;
  for (const Agreement agreement : agreements) {
    are_own.push_back(agreement == Agreement::kSameForces || (agreement == Agreement::kSame && all_same));
  }
  return are_own;
}

std::string OwnLabelsWarning(absl::Span<const StructurePrediction> predictions) {
  const std::vector<bool> are_own = LabelsThatArePredictions(predictions);
  const auto first = std::find(are_own.begin(), are_own.end(), true);
  if (first == are_own.end()) return "";
  return absl::StrCat("the labels of ", std::count(are_own.begin(), are_own.end(), true), " of ", predictions.size(),
                      " structures are the model's own predictions to rounding, as of a simulation that it drove: "
                      "errors of these mean nothing, and training on them teaches nothing; the first is ",
                      predictions[first - are_own.begin()].name);
}

}  // namespace rutile
