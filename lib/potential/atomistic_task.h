// Learning the energies of structures: the Task behind `train` on features.
//
// Term "energy": the squared error of each structure's energy per atom (or Huber's function of the error), in
// (eV/atom)^2, one count per structure. The loss is its mean or, as aenet has it, the root of its mean.

#ifndef RUTILE_LIB_POTENTIAL_ATOMISTIC_TASK_H_
#define RUTILE_LIB_POTENTIAL_ATOMISTIC_TASK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/base/parallel_for.h"
#include "lib/potential/feature_data.h"
#include "lib/potential/network_shape.h"
#include "lib/potential/scaling.h"
#include "lib/task/task.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

enum class EnergyLoss { kRmse, kMse, kHuber };

struct AtomisticTaskOptions {
  std::vector<int> hidden = {15, 15};
  Activation activation = Activation::kTanh;
  EnergyLoss loss = EnergyLoss::kRmse;
  double huber_delta = 0.01;  // eV per atom
  FeatureScalingKind feature_scaling = FeatureScalingKind::kPooled;
  bool scale_energies = true;
  std::map<uint8_t, double> atomic_energies;  // eV; empty: those of the data, else fitted
  DType precision = DType::kF32;              // of parameters and arithmetic: F32 or F64
  int num_threads = 1;
};

class AtomisticTask : public Task {
 public:
  // Statistics, scales and atomic energies come from `train` alone (indices of structures, each with an energy).
  // `data` is copied (it shares its files). INVALID_ARGUMENT: a hidden layer without nodes, an element of the
  // descriptor without an atomic energy when some are given.
  static absl::StatusOr<std::unique_ptr<AtomisticTask>> Create(const FeatureData& data,
                                                               const AtomisticTaskOptions& options,
                                                               absl::Span<const int64_t> train);
  ~AtomisticTask() override;

  int64_t num_examples() const override { return data_.num_structures(); }
  double ExampleCost(int64_t example) const override { return static_cast<double>(data_.num_atoms(example)); }
  // Tensors: x [A, F] standardised, atoms of one species next to each other; species_offset i64 [species + 1], whose
  // last is A; structure i32 [A]; num_atoms f64 [B]; target f64 [B], energy per atom less atomic energies, eV. x and
  // structure may have more rows, which no one reads: memory of a larger batch.
  absl::Status MakeBatch(absl::Span<const int64_t> examples, NamedTensors* batch) const override;

  DType parameter_dtype() const override { return options_.precision; }
  std::vector<ParameterSlice> parameter_slices() const override;
  Tensor InitialParameters(uint64_t seed) const override;

  std::vector<LossTerm> terms() const override { return {{"energy", "(eV/atom)^2"}}; }
  Loss CombineTerms(const TermSums& sums) const override;
  at::Tensor ExampleLosses(const at::Tensor& parameters, const NamedTensors& batch) const override;
  std::vector<double> ExampleCounts(const NamedTensors& batch) const override;
  // Through EnergyKernel. One thread at a time may call this and Evaluate; num_threads work inside.
  absl::Status AccumulateGradients(const Tensor& parameters, const NamedTensors& batch, absl::Span<Tensor> gradients,
                                   TermSums* sums) override;

  int num_metric_sums() const override { return 3; }
  absl::Status Evaluate(const Tensor& parameters, const NamedTensors& batch, TermSums* sums,
                        absl::Span<double> metric_sums) override;
  std::vector<Metric> Metrics(
      absl::Span<const double> metric_sums) const override;  // energy_rmse, energy_mae: meV/atom

  absl::Status WriteModel(absl::string_view path, const Tensor& parameters, const Metadata& extra) const override;

  const NetworkShape& shape() const { return shape_; }
  const FeatureScaling& feature_scaling() const { return feature_scaling_; }
  const EnergyScaling& energy_scaling() const { return energy_scaling_; }
  const std::vector<double>& atomic_energies() const { return atomic_energies_; }  // [species] eV
  bool atomic_energies_fitted() const { return atomic_energies_fitted_; }

 private:
  template <typename T>
  struct Native;  // the kernel and its scratch memory, of the parameters' type

  AtomisticTask(const FeatureData& data, const AtomisticTaskOptions& options);
  absl::Status ChooseAtomicEnergies(absl::Span<const int64_t> train);
  void ChooseScales(absl::Span<const int64_t> train);
  template <typename Source>
  void AddStatistics(absl::Span<const int64_t> train, FeatureStatistics* statistics) const;
  void Standardise();
  template <typename Source, typename T>
  void StandardiseInto(T* rows) const;
  template <typename T>
  void FillBatch(absl::Span<const int64_t> examples, NamedTensors* batch) const;
  // Error of the energy per atom of each structure, eV: what a forward pass gives.
  template <typename T>
  void Errors(Native<T>* native, const Tensor& parameters, const NamedTensors& batch, bool keep) const;
  template <typename T>
  void AccumulateNative(Native<T>* native, const Tensor& parameters, const NamedTensors& batch, Tensor* gradient,
                        TermSums* sums) const;
  double ErrorLoss(double error) const;   // rmse, mse: error^2; huber: its function
  double ErrorSlope(double error) const;  // d ErrorLoss / d error

  const FeatureData data_;
  const AtomisticTaskOptions options_;
  NetworkShape shape_;
  FeatureScaling feature_scaling_;
  EnergyScaling energy_scaling_;
  std::vector<double> atomic_energies_;
  bool atomic_energies_fitted_ = false;
  Tensor rows_;                         // [A, F] standardised, in the parameters' type; by structure, then by species
  std::vector<int64_t> row_offset_;     // [S + 1] rows of each structure
  std::vector<int32_t> species_count_;  // [S, species] atoms of each species
  std::vector<double> target_;          // [S] energy per atom less atomic energies, eV; NaN without an energy
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<Native<float>> native32_;
  std::unique_ptr<Native<double>> native64_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_ATOMISTIC_TASK_H_
