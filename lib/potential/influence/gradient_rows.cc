#include "lib/potential/influence/gradient_rows.h"

#include <algorithm>
#include <numeric>

#include "lib/base/logging.h"
#include "lib/descriptor/descriptor_factory.h"
#include "lib/many_body/atom_kernel_factory.h"

namespace rutile {

GradientFormulas::GradientFormulas(const Potential& potential, const LossOptions& loss, const TermWeights& weights,
                                   AngularMethod method)
    : potential(potential),
      weights(weights),
      energy_loss(loss.kind, loss.energy_delta),
      force_loss(loss.kind, loss.force_delta),
      stress_loss(loss.kind, loss.stress_delta),
      num_features(potential.shape.num_features),
      num_species(potential.shape.num_species),
      derivatives(MakeDescriptorDerivatives<double>(potential.descriptor, method)),
      parameters(potential.parameters.ToDoubles()),
      mean(potential.feature_scaling.mean),
      scale(potential.feature_scaling.scale) {
  for (const double each : potential.feature_scaling.scale) {
    energy_slope.push_back(each / potential.energy_scaling.scale);
  }
}

GradientRows::GradientRows(const GradientFormulas& formulas)
    : formulas_(formulas),
      kernel_(MakeAtomKernel<double>(formulas.potential.shape)),
      messages_(MakeStructureMessages<double>(formulas.potential.descriptor, formulas.potential.shape,
                                              formulas.potential.feature_scaling)),
      state_(formulas.derivatives->MakeState()) {
  kernel_->SetMessageSums(messages_.get());
}

GradientRows::~GradientRows() = default;

void GradientRows::PlaceAtoms(absl::Span<const uint8_t> species) {
  const auto n = static_cast<int64_t>(species.size());
  species_.assign(species.begin(), species.end());
  species_offset_.assign(formulas_.num_species + 1, 0);
  for (const uint8_t each : species) ++species_offset_[each + 1];
  std::partial_sum(species_offset_.begin(), species_offset_.end(), species_offset_.begin());
  structure_.assign(n, 0);
  row_.resize(n);
  x_.resize(n * formulas_.num_features);
  // Assigning rows moves species_offset_[k] to the end of species k; it is moved back afterwards.
  for (int64_t i = 0; i < n; ++i) row_[i] = static_cast<int32_t>(species_offset_[species[i]]++);
  std::copy_backward(species_offset_.begin(), species_offset_.end() - 1, species_offset_.end());
  species_offset_[0] = 0;
}

template <typename U>
void GradientRows::Standardize(absl::Span<const uint8_t> species, const U* features) {
  const int f = formulas_.num_features;
  for (size_t i = 0; i < species.size(); ++i, features += f) {
    const double *const mean = &formulas_.mean[species[i] * f], *const scale = &formulas_.scale[species[i] * f];
    double* const out = &x_[int64_t{row_[i]} * f];
    for (int k = 0; k < f; ++k) out[k] = (features[k] - mean[k]) * scale[k];
  }
}

template void GradientRows::Standardize(absl::Span<const uint8_t>, const float*);
template void GradientRows::Standardize(absl::Span<const uint8_t>, const double*);

void GradientRows::SetNeighbors() {
  if (messages_ == nullptr) return;
  const auto n = static_cast<int64_t>(row_.size());
  messages_->Clear();
  messages_->Add({state_.get(), row_.data(), n, n});
}

void GradientRows::PrepareEnergy(const StructureGeometry& geometry) {
  PlaceAtoms(geometry.species);
  features_.resize(x_.size());
  formulas_.derivatives->Features(geometry, state_.get(), absl::MakeSpan(features_));
  Standardize(geometry.species, features_.data());
  SetNeighbors();
  EvaluateEnergy();
}

void GradientRows::EvaluateEnergy() {
  ready_data_ = nullptr;
  kernel_->Forward(formulas_.parameters, Rows(), absl::MakeSpan(&network_sum_, 1));
  is_forward_done_ = true;
}

void GradientRows::PrepareDerivatives(const StructureGeometry& geometry, bool stress) {
  const absl::Span<const uint8_t> species = geometry.species;
  const int f = formulas_.num_features;
  PlaceAtoms(species);
  features_.resize(x_.size());
  x_gradient_.resize(x_.size());
  force_.resize(3 * species.size());
  direction_.resize(force_.size());
  formulas_.derivatives->Features(geometry, state_.get(), absl::MakeSpan(features_));
  Standardize(species, features_.data());
  SetNeighbors();
  kernel_->ForwardWithInputGradients(formulas_.parameters, Rows(), absl::MakeSpan(&network_sum_, 1),
                                     absl::MakeSpan(x_gradient_));
  for (size_t i = 0; i < species.size(); ++i) {
    const double* const gradient = &x_gradient_[int64_t{row_[i]} * f];
    const double* const slope = &formulas_.energy_slope[species[i] * f];
    for (int k = 0; k < f; ++k) features_[i * f + k] = gradient[k] * slope[k];
  }
  formulas_.derivatives->Vjp(state_.get(), features_, {}, absl::MakeSpan(force_), stress ? strain_gradient_ : nullptr);
  if (messages_ != nullptr) {
    const double per_energy = 1 / formulas_.potential.energy_scaling.scale;
    messages_->AddForces(0, per_energy, absl::MakeSpan(force_), stress ? strain_gradient_ : nullptr);
  }
}

void GradientRows::PredictGeometry(const StructureGeometry& geometry, bool forces) {
  data_ = ready_data_ = nullptr;
  has_derivatives_ = forces;
  if (forces) {
    PrepareDerivatives(geometry, /*stress=*/false);
  } else {
    PrepareEnergy(geometry);
  }
}

void GradientRows::AtomGradient(int64_t atom, absl::Span<double> row) {
  CHECK_EQ(row.size(), formulas_.parameters.size());
  CHECK(messages_ == nullptr) << "of two layers an atom's energy depends on what its neighbors send";
  std::fill(row.begin(), row.end(), 0.0);
  if (atom_kernel_ == nullptr) atom_kernel_ = MakeAtomKernel<double>(formulas_.potential.shape);
  const double slope = 1 / formulas_.potential.energy_scaling.scale;
  const int f = formulas_.num_features;
  atom_offset_.assign(formulas_.num_species + 1, 0);
  std::fill(atom_offset_.begin() + species_[atom] + 1, atom_offset_.end(), 1);
  const AtomRows<double> rows{absl::MakeConstSpan(&x_[int64_t{row_[atom]} * f], f), atom_offset_,
                              absl::MakeConstSpan(structure_.data(), 1)};
  double energy;
  atom_kernel_->Forward(formulas_.parameters, rows, absl::MakeSpan(&energy, 1));
  atom_kernel_->Backward(formulas_.parameters, rows, absl::MakeConstSpan(&slope, 1), row);
}

void GradientRows::MeanInputs(absl::Span<double> mean) const {
  const int64_t f = formulas_.num_features;
  CHECK_EQ(static_cast<int64_t>(mean.size()), formulas_.num_species * f);
  std::fill(mean.begin(), mean.end(), 0.0);
  for (int64_t s = 0; s < formulas_.num_species; ++s) {
    for (int64_t row = species_offset_[s]; row < species_offset_[s + 1]; ++row) {
      for (int64_t k = 0; k < f; ++k) mean[s * f + k] += x_[row * f + k];
    }
  }
  for (double& each : mean) each /= static_cast<double>(species_.size());
}

void GradientRows::StoreTangents(const double* strain) {
  const absl::Span<const uint8_t> species = species_;
  const int f = formulas_.num_features;
  // Forces are minus the derivative by positions, so the direction changes its sign.
  for (double& each : direction_) each = -each;
  formulas_.derivatives->Jvp(state_.get(), direction_, {}, strain, absl::MakeSpan(features_));
  tangents_.resize(x_.size());
  for (size_t i = 0; i < species.size(); ++i) {
    const double* const slope = &formulas_.energy_slope[species[i] * f];
    double* const out = &tangents_[int64_t{row_[i]} * f];
    for (int k = 0; k < f; ++k) out[k] = features_[i * f + k] * slope[k];
  }
  if (messages_ == nullptr) return;
  const double per_energy = 1 / formulas_.potential.energy_scaling.scale;
  constexpr double kNone[9] = {};
  messages_->SetDirection(0, direction_, per_energy);
  messages_->SetStrain(0, strain != nullptr ? strain : kNone, per_energy);
  messages_->MoveAtomsAndStrainCells();
}

void GradientRows::Gradient(const OutputSlopes& slopes, absl::Span<double> row) {
  CHECK_EQ(row.size(), formulas_.parameters.size());
  std::fill(row.begin(), row.end(), 0.0);
  const double slope = slopes.energy / formulas_.potential.energy_scaling.scale;
  if (!has_derivatives_) {
    CHECK(!slopes.terms.derivatives());
    // Backward takes what Forward stored.
    if (!is_forward_done_) kernel_->Forward(formulas_.parameters, Rows(), absl::MakeSpan(&network_sum_, 1));
    is_forward_done_ = false;
    kernel_->Backward(formulas_.parameters, Rows(), absl::MakeConstSpan(&slope, 1), row);
    return;
  }
  if (!slopes.terms.derivatives()) {
    kernel_->AddEnergyGradients(formulas_.parameters, Rows(), absl::MakeConstSpan(&slope, 1), row);
    return;
  }
  if (slopes.terms.force) {
    std::copy(slopes.force.begin(), slopes.force.end(), direction_.begin());
  } else {
    std::fill(direction_.begin(), direction_.end(), 0.0);
  }
  double strain[9];
  if (slopes.terms.stress) {
    // The result is symmetric as the predicted stress is, even if the reference stress is not.
    for (int a = 0; a < 3; ++a) {
      for (int b = 0; b < 3; ++b) {
        strain[3 * a + b] = 0.5 * (slopes.stress[3 * a + b] + slopes.stress[3 * b + a]) / volume_;
      }
    }
  }
  StoreTangents(slopes.terms.stress ? strain : nullptr);
  if (!slopes.terms.energy) {
    kernel_->AddTangentGradients(formulas_.parameters, Rows(), tangents_, row);
    return;
  }
  kernel_->AddEnergyAndTangentGradients(formulas_.parameters, Rows(), absl::MakeConstSpan(&slope, 1), tangents_, row);
}

}  // namespace rutile
