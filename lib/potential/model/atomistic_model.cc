#include "lib/potential/model/atomistic_model.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/many_body/atom_kernel_factory.h"
#include "lib/potential/model/labels/label_range.h"
#include "lib/potential/model/labels/moment_scaling.h"
#include "lib/potential/model/potential_file.h"
#include "lib/potential/model/zbl_options.h"
#include "lib/structure/element.h"
#include "lib/tensorfile/tensor_of_doubles.h"
#include "lib/trace/scope.h"

namespace rutile {

absl::StatusOr<AtomisticModel> AtomisticModel::Create(const AtomicData& data, const FeatureSource& features,
                                                      const AtomisticTaskOptions& options,
                                                      absl::Span<const int64_t> train) {
  const ProfileScope scope(Stage::kScale);
  if (train.empty()) return absl::InvalidArgumentError("no structure to train on");
  std::vector<int64_t> counted;  // structures of weight 0 must not influence anything
  std::copy_if(train.begin(), train.end(), std::back_inserter(counted), [&](int64_t s) { return data.weight(s) > 0; });
  if (counted.empty()) {
    return absl::InvalidArgumentError("every training structure has weight 0: nothing can be learned");
  }
  std::vector<int64_t> with_energy;
  std::copy_if(counted.begin(), counted.end(), std::back_inserter(with_energy),
               [&](int64_t s) { return data.has_energy(s); });
  AtomisticModel model;
  model.descriptor_ = data.descriptor();
  model.precision_ = options.precision;
  ASSIGN_OR_RETURN(model.repulsion_, RadiiOf(options.zbl, data.descriptor()));
  if (!data.descriptor().is_chebyshev() && options.channels < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("--channels=", options.channels, ": a many-body potential has 1 or more"));
  }
  SetInputs(data.descriptor(), options.channels, options.messages, options.vector_messages, &model.shape_);
  model.shape_.hidden = options.hidden;
  model.shape_.activation = options.activation;
  RETURN_IF_ERROR(model.shape_.Validate());
  RETURN_IF_ERROR(model.ChooseAtomicEnergies(data, options, with_energy));
  RETURN_IF_ERROR(CheckLabelRange(data, model.targets_, options, counted));
  RETURN_IF_ERROR(features.dtype() == DType::kF64
                      ? model.ChooseFeatureScaling<double>(data, features, options.feature_scaling, counted)
                      : model.ChooseFeatureScaling<float>(data, features, options.feature_scaling, counted));
  if (options.scale_energies && !with_energy.empty()) {
    std::vector<double> targets;
    double size = 0;
    for (const int64_t s : with_energy) {
      targets.push_back(model.targets_[s]);
      size = std::max(size, std::abs(data.energy(s)) / static_cast<double>(data.num_atoms(s)));
    }
    model.energies_are_equal_ = EnergiesAreEqual(targets, size);
    model.energy_scaling_ = ScaleEnergies(targets, size);
  }
  if (options.scale_energies && model.shape_.has_moments()) model.ScaleByForces(data, counted);
  return model;
}

absl::Status AtomisticModel::ChooseAtomicEnergies(const AtomicData& data, const AtomisticTaskOptions& options,
                                                  absl::Span<const int64_t> train) {
  const std::vector<uint8_t>& species = descriptor_.species();
  const int64_t num_species = shape_.num_species;
  std::vector<int64_t> counts(data.num_structures() * num_species);
  for (int64_t s = 0; s < data.num_structures(); ++s) {
    for (const uint8_t index : data.species(s)) ++counts[s * num_species + index];
  }
  const std::map<uint8_t, double>& given =
      options.atomic_energies.empty() ? data.atomic_energies() : options.atomic_energies;
  if (given.empty() && train.empty()) atomic_energies_.assign(num_species, 0.0);  // forces alone have no zero
  if (given.empty() && !train.empty()) {
    std::vector<double> energies, weights;
    std::vector<int64_t> train_counts;
    for (const int64_t s : train) {
      energies.push_back(data.energy(s));
      weights.push_back(data.weight(s));
      for (int64_t i = 0; i < num_species; ++i) train_counts.push_back(counts[s * num_species + i]);
    }
    atomic_energies_ = FitAtomicEnergies(energies, train_counts, shape_.num_species, weights);
    atomic_energies_fitted_ = true;
  }
  for (const uint8_t element : species) {
    if (given.empty()) break;
    const auto found = given.find(element);
    if (found == given.end()) {
      return absl::InvalidArgumentError(absl::StrCat("--atomic_energies has none for ", ElementSymbol(element),
                                                     "; give one for each species, or none and they are fitted"));
    }
    atomic_energies_.push_back(found->second);
  }
  for (int64_t s = 0; s < data.num_structures(); ++s) {
    double energy = data.energy(s);
    for (int64_t i = 0; i < num_species; ++i) energy -= counts[s * num_species + i] * atomic_energies_[i];
    targets_.push_back(energy / static_cast<double>(data.num_atoms(s)));
  }
  return absl::OkStatus();
}

// The energies of many-body potentials are scaled as mace does (Batatia et al., arXiv:2206.07697, rms_forces_scaling):
// their derivatives by distances in units of Angstrom are then of the order of 1. Forces of relaxed structures and
// ideal crystals are next to nothing and say nothing of the energies, whose spread therefore bounds the unit from
// below.
void AtomisticModel::ScaleByForces(const AtomicData& data, absl::Span<const int64_t> train) {
  double square = 0, count = 0, sum = 0, weights = 0;
  for (const int64_t s : train) {
    const double weight = data.weight(s);
    if (data.has_energy(s)) {
      sum += weight * targets_[s];
      weights += weight;
    }
    const absl::Span<const double> force = data.force(s);
    for (const double component : force) square += weight * component * component;
    count += weight * static_cast<double>(force.size());
  }
  if (square == 0) return;
  constexpr double kShareOfSpread = 0.1;
  const double spread = weights == 0 || energies_are_equal_ ? 0 : 1 / energy_scaling_.scale;
  energy_scaling_.scale = 1 / std::max(std::sqrt(square / count), kShareOfSpread * spread);
  energy_scaling_.shift = weights > 0 ? sum / weights : 0;
}

template <typename T>
absl::Status AtomisticModel::ChooseFeatureScaling(const AtomicData& data, const FeatureSource& features,
                                                  FeatureScalingKind kind, absl::Span<const int64_t> train) {
  const int f = shape_.num_features;
  FeatureStatistics statistics(kind, shape_.num_species, f);
  RETURN_IF_ERROR(features.ForEach<T>(train, [&](int64_t s, absl::Span<const T> rows) {
    const absl::Span<const uint8_t> species = data.species(s);
    for (size_t atom = 0; atom < species.size(); ++atom) {
      statistics.Add(species[atom], rows.subspan(atom * f, f), data.weight(s));
    }
  }));
  feature_scaling_ = statistics.Result();
  feature_range_ = statistics.Range();
  if (shape_.has_moments()) ScaleMoments(descriptor_.moments(), kind, &feature_scaling_, &feature_range_);
  return absl::OkStatus();
}

std::vector<ParameterSlice> AtomisticModel::parameter_slices() const { return NetworkSlices(descriptor_, shape_); }

std::vector<bool> AtomisticModel::FrozenNetworks(const std::vector<bool>& slices) const {
  const size_t per_species = parameter_slices().size() / shape_.num_species;  // in the order of parameter_slices
  std::vector<bool> networks(slices.empty() ? 0 : shape_.num_species, true);
  for (size_t s = 0; s < slices.size(); ++s) {
    if (!slices[s]) networks[s / per_species] = false;
  }
  return networks;
}

Tensor AtomisticModel::InitialParameters(uint64_t seed) const {
  return TensorOfDoubles(precision_, InitialAtomParameters(shape_, seed));
}

Potential AtomisticModel::WithParameters(const Tensor& parameters) const {
  Potential potential;
  potential.descriptor = descriptor_;
  potential.shape = shape_;
  potential.feature_scaling = feature_scaling_;
  potential.feature_range = feature_range_;
  potential.energy_scaling = energy_scaling_;
  potential.atomic_energies = atomic_energies_;
  potential.repulsion = repulsion_;
  potential.parameters = parameters;
  return potential;
}

absl::Status AtomisticModel::Write(absl::string_view path, const Tensor& parameters, const Metadata& extra) const {
  Potential potential = WithParameters(parameters);
  potential.metadata = extra;
  return WritePotential(path, potential);
}

}  // namespace rutile
