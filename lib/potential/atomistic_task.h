// Learning the energies of structures: the Task behind `train` on features.
//
// Term "energy": for each structure, the square of the error of its energy per atom (or Huber's function of the error),
// in (eV/atom)^2, counted once. The loss is the mean of the term, or as aenet has it the root of its mean.

#ifndef RUTILE_LIB_POTENTIAL_ATOMISTIC_TASK_H_
#define RUTILE_LIB_POTENTIAL_ATOMISTIC_TASK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/base/parallel_for.h"
#include "lib/descriptor/chebyshev_options.h"
#include "lib/potential/energy_kernel.h"
#include "lib/potential/feature_data.h"
#include "lib/potential/network_shape.h"
#include "lib/potential/potential_file.h"
#include "lib/potential/scaling.h"
#include "lib/task/task.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// Of the error e of a structure's energy per atom. kRmse: sqrt(mean e^2). kMse: mean e^2. kHuber: mean of e^2 / 2 up to
// delta, delta (|e| - delta / 2) beyond.
enum class EnergyLoss { kRmse, kMse, kHuber };

struct AtomisticTaskOptions {
  std::vector<int> hidden = {15, 15};
  Activation activation = Activation::kTanh;
  EnergyLoss loss = EnergyLoss::kRmse;
  double huber_delta = 0.01;  // eV per atom
  FeatureScalingKind feature_scaling = FeatureScalingKind::kPooled;
  bool scale_energies = true;
  std::map<uint8_t, double> atomic_energies;  // eV by atomic number; empty: those of the data, or else fitted
  DType precision = DType::kF32;              // of parameters and arithmetic: F32 or F64
  int num_threads = 1;                        // of the kernel; results do not depend on it
};

// A batch of B structures with A atoms:
//   x               [>= A, F] the parameters' type: standardised features, atoms of a species next to each other
//   structure       I32 [>= A] which structure of the batch a row belongs to
//   species_offset  I64 [species + 1] rows of species s are [offset[s], offset[s + 1]); the last is A
//   num_atoms       F64 [B]
//   target          F64 [B] energy less atomic energies, eV per atom; 0 where there is none
//   has_energy      F64 [B] 1, or 0 for a structure without an energy: it does not count
// Rows from A on are memory that a larger batch has used.
class AtomisticTask : public Task {
 public:
  // Scales and fitted atomic energies come from the structures `train` alone. Features are standardised once, into
  // memory of their own; `data` is not needed afterwards. INVALID_ARGUMENT: `train` is empty or names a structure
  // without an energy, a bad shape, atomic energies for some of the descriptor's elements only.
  static absl::StatusOr<std::unique_ptr<AtomisticTask>> Create(const FeatureData& data,
                                                               const AtomisticTaskOptions& options,
                                                               absl::Span<const int64_t> train);

  int64_t num_examples() const override { return static_cast<int64_t>(energy_.size()); }
  double ExampleCost(int64_t example) const override;  // atoms
  // OUT_OF_RANGE for an example that does not exist.
  absl::Status MakeBatch(absl::Span<const int64_t> examples, NamedTensors* batch) const override;

  DType parameter_dtype() const override { return options_.precision; }
  std::vector<ParameterSlice> parameter_slices() const override;
  Tensor InitialParameters(uint64_t seed) const override;

  std::vector<LossTerm> terms() const override { return {{"energy", "(eV/atom)^2"}}; }
  // At an error of exactly 0 the root's weight is 0: there is nothing to learn.
  Loss CombineTerms(const TermSums& sums) const override;
  at::Tensor ExampleLosses(const at::Tensor& parameters, const NamedTensors& batch) const override;
  std::vector<double> ExampleCounts(const NamedTensors& batch) const override;
  // By the kernel; no allocation once batches of the size have been seen. One thread at a time, as Evaluate.
  absl::Status AccumulateGradients(const Tensor& parameters, const NamedTensors& batch, absl::Span<Tensor> gradients,
                                   TermSums* sums) override;

  int num_metric_sums() const override { return 3; }
  absl::Status Evaluate(const Tensor& parameters, const NamedTensors& batch, TermSums* sums,
                        absl::Span<double> metric_sums) override;
  // energy_rmse and energy_mae, meV/atom; NaN when nothing was added.
  std::vector<Metric> Metrics(absl::Span<const double> metric_sums) const override;

  absl::Status WriteModel(absl::string_view path, const Tensor& parameters, const Metadata& extra) const override;

  const NetworkShape& shape() const { return shape_; }
  const FeatureScaling& feature_scaling() const { return feature_scaling_; }
  const EnergyScaling& energy_scaling() const { return energy_scaling_; }
  const std::vector<double>& atomic_energies() const { return atomic_energies_; }  // [species] eV
  bool atomic_energies_fitted() const { return atomic_energies_fitted_; }
  // What a fit leaves, root mean square in eV per atom; 0 where the energies were given.
  double atomic_energy_residual() const { return atomic_energy_residual_; }

 private:
  explicit AtomisticTask(const AtomisticTaskOptions& options);

  absl::Status SetAtomicEnergies(const FeatureData& data, absl::Span<const int64_t> train);
  template <typename T>
  void StandardiseFeatures(const FeatureData& data, absl::Span<const int64_t> train);
  template <typename T>
  void ForwardOf(EnergyKernel<T>* kernel, const Tensor& parameters, const NamedTensors& batch, bool keep);
  template <typename T>
  void BackwardOf(EnergyKernel<T>* kernel, const Tensor& parameters, const NamedTensors& batch, Tensor* gradient);
  // After the kernel's forward pass: the errors per atom of the batch, and the loss and its slope for each.
  double Residual(const NamedTensors& batch, int64_t i) const;
  double LossOf(double residual) const;
  double SlopeOf(double residual) const;

  const AtomisticTaskOptions options_;
  ChebyshevOptions descriptor_;
  NetworkShape shape_;
  FeatureScaling feature_scaling_;
  EnergyScaling energy_scaling_;
  std::vector<double> atomic_energies_;
  bool atomic_energies_fitted_ = false;
  double atomic_energy_residual_ = 0;

  Tensor x_;                         // [A, F] of all structures; inside a structure sorted by species
  std::vector<int64_t> row_offset_;  // [structures * species + 1] rows of each structure and species
  std::vector<double> target_;       // [structures]
  std::vector<double> energy_;       // [structures] NaN without one

  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<EnergyKernel<float>> kernel32_;  // one of the two
  std::unique_ptr<EnergyKernel<double>> kernel64_;
  std::vector<double> sums_, slopes_;  // [B] of the kernel's last call
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_ATOMISTIC_TASK_H_
