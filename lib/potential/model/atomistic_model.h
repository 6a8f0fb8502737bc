// Holds everything of a potential except its parameters: what the training set fixes before the first step.

#ifndef RUTILE_LIB_POTENTIAL_MODEL_ATOMISTIC_MODEL_H_
#define RUTILE_LIB_POTENTIAL_MODEL_ATOMISTIC_MODEL_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/descriptor/descriptor_options.h"
#include "lib/network/network_shape.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/data/feature_source.h"
#include "lib/potential/model/labels/scaling.h"
#include "lib/potential/model/pair_repulsion.h"
#include "lib/potential/model/potential_file.h"
#include "lib/potential/model/task_options.h"
#include "lib/task/parameter_slice.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

class AtomisticModel {
 public:
  // data: with the labels that LearnedLabels leaves of the given ones by the options' repulsion.
  // Computes statistics, scales and atomic energies from `train` alone (indices of structures, each with an energy). A
  // weight of 2 counts as the structure twice, and 0 as exactly no structure. INVALID_ARGUMENT: nothing to train on, or
  // all of weight 0; a hidden layer without nodes; an element of the descriptor without an atomic energy when some are
  // given; the errors of CheckLabelRange.
  static absl::StatusOr<AtomisticModel> Create(const AtomicData& data, const FeatureSource& features,
                                               const AtomisticTaskOptions& options, absl::Span<const int64_t> train);

  const DescriptorOptions& descriptor() const { return descriptor_; }
  const NetworkShape& shape() const { return shape_; }
  const FeatureScaling& feature_scaling() const { return feature_scaling_; }
  const FeatureRange& feature_range() const { return feature_range_; }
  const EnergyScaling& energy_scaling() const { return energy_scaling_; }
  // True if energies should be scaled but are all equal (EnergiesAreEqual), so that there is nothing to scale by.
  bool energies_are_equal() const { return energies_are_equal_; }
  const RepulsionRadii& repulsion() const { return repulsion_; }  // subtracted from the labels; empty for none
  const std::vector<double>& atomic_energies() const { return atomic_energies_; }  // [species] eV
  bool atomic_energies_fitted() const { return atomic_energies_fitted_; }
  DType precision() const { return precision_; }

  // Returns [structures of the data] energy per atom less the atomic energies and the repulsion, eV; NaN for structures
  // without an energy.
  const std::vector<double>& targets() const { return targets_; }

  // The parameter slices of every task that trains this model (lib/task/task.h).
  std::vector<ParameterSlice> parameter_slices() const;
  // Returns [species] whether the whole network is frozen, for the slices of Task::SetFrozen; empty if `slices` is
  // empty.
  std::vector<bool> FrozenNetworks(const std::vector<bool>& slices) const;
  Tensor InitialParameters(uint64_t seed) const;
  Potential WithParameters(const Tensor& parameters) const;
  absl::Status Write(absl::string_view path, const Tensor& parameters, const Metadata& extra) const;

 private:
  absl::Status ChooseAtomicEnergies(const AtomicData& data, const AtomisticTaskOptions& options,
                                    absl::Span<const int64_t> train);
  // Sets the energy scaling by the mean of the targets and the root mean square of the force components of `train`;
  // leaves it as it is where there are no forces.
  void ScaleByForces(const AtomicData& data, absl::Span<const int64_t> train);
  template <typename T>
  absl::Status ChooseFeatureScaling(const AtomicData& data, const FeatureSource& features, FeatureScalingKind kind,
                                    absl::Span<const int64_t> train);

  DescriptorOptions descriptor_;
  NetworkShape shape_;
  FeatureScaling feature_scaling_;
  FeatureRange feature_range_;
  EnergyScaling energy_scaling_;
  RepulsionRadii repulsion_;
  bool energies_are_equal_ = false;
  std::vector<double> atomic_energies_;
  bool atomic_energies_fitted_ = false;
  DType precision_ = DType::kF32;
  std::vector<double> targets_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_MODEL_ATOMISTIC_MODEL_H_
