// What of GradientRows knows data sets. Apart, so that the C library (lib/md), which has none, links without their
// readers.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/potential/data/geometry.h"
#include "lib/potential/influence/gradient_rows.h"
#include "lib/structure/cell.h"

namespace rutile {

absl::Status GradientRows::PrepareEnergy(const AtomicData& data, int64_t s) {
  if (!data.has_features()) {
    ASSIGN_OR_RETURN(const StructureGeometry geometry, GeometryOf(data, s, &pairs_));
    PrepareEnergy(geometry);
    return absl::OkStatus();
  }
  PlaceAtoms(data.species(s));
  if (data.feature_dtype() == DType::kF64) {
    Standardize(data.species(s), data.features<double>(s).data());
  } else {
    Standardize(data.species(s), data.features<float>(s).data());
  }
  EvaluateEnergy();
  return absl::OkStatus();
}

absl::Status GradientRows::PrepareDerivatives(const AtomicData& data, int64_t s, bool stress) {
  if (ready_data_ == &data && ready_structure_ == s && ready_stress_ == stress) return absl::OkStatus();
  ready_data_ = nullptr;
  if (stress) {
    volume_ = CellVolume(data.cell(s));
    if (!(volume_ > 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("structure ", data.name(s), " has a stress, but its cell has no volume"));
    }
  }
  ASSIGN_OR_RETURN(const StructureGeometry geometry, GeometryOf(data, s, &pairs_));
  PrepareDerivatives(geometry, stress);
  ready_data_ = &data;
  ready_structure_ = s;
  ready_stress_ = stress;
  return absl::OkStatus();
}

absl::Status GradientRows::Predict(const AtomicData& data, int64_t s, const ExampleTerms& terms) {
  data_ = &data;
  s_ = s;
  has_derivatives_ = terms.derivatives();
  return has_derivatives_ ? PrepareDerivatives(data, s, terms.stress) : PrepareEnergy(data, s);
}

double GradientRows::EnergyError() const {
  const EnergyScaling& scaling = formulas_.potential.energy_scaling;
  const auto n = static_cast<double>(data_->num_atoms(s_));
  return network_sum_ / (scaling.scale * n) + scaling.shift - EnergyTarget(formulas_.potential, *data_, s_);
}

double GradientRows::ForceError(int64_t c) const { return force_[c] - data_->force(s_)[c]; }

double GradientRows::StressError(int64_t c) const {
  const int64_t a = c / 3, b = c % 3;
  const double predicted = 0.5 * (strain_gradient_[3 * a + b] + strain_gradient_[3 * b + a]) / volume_;
  return predicted - data_->stress(s_)[c];
}

absl::Status GradientRows::Compute(const AtomicData& data, const GradientExample& example, absl::Span<double> row) {
  CHECK_EQ(row.size(), formulas_.parameters.size());
  const int64_t s = example.structure;
  OutputSlopes slopes;
  slopes.terms = TermsOf(data, example, formulas_.weights);
  if (!slopes.terms.any()) {
    std::fill(row.begin(), row.end(), 0.0);
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(Predict(data, s, slopes.terms));
  force_slopes_.assign(3 * data.num_atoms(s), 0.0);
  slopes.force = force_slopes_;
  const int64_t first = 3 * example.atom;
  switch (example.quantity) {
    case PotentialQuantity::kEnergy:
      slopes.energy = 1;
      break;
    case PotentialQuantity::kForceComponent:
      force_slopes_[first + example.component] = 1;
      break;
    case PotentialQuantity::kAtomForce:
      for (int64_t c = first; c < first + 3; ++c) force_slopes_[c] = 2 * ForceError(c);
      break;
    case PotentialQuantity::kLoss:
      SetLossSlopes(&slopes);
      break;
  }
  Gradient(slopes, row);
  return absl::OkStatus();
}

void GradientRows::SetLossSlopes(OutputSlopes* slopes) {
  const double weight = data_->weight(s_);
  const TermWeights& weights = formulas_.weights;
  if (slopes->terms.energy) {
    slopes->energy = weight * weights.energy * formulas_.energy_loss.Slope(EnergyError()) /
                     static_cast<double>(data_->num_atoms(s_));
  }
  if (slopes->terms.force) {
    for (size_t c = 0; c < force_slopes_.size(); ++c) {
      force_slopes_[c] = weight * weights.force * formulas_.force_loss.Slope(ForceError(c));
    }
  }
  if (slopes->terms.stress) {
    for (int c = 0; c < 9; ++c) {
      slopes->stress[c] = weight * weights.stress * formulas_.stress_loss.Slope(StressError(c));
    }
  }
}

}  // namespace rutile
