// Learning energies alone on cached features: the Task behind `train` where nothing else is wanted. (ForceTask can all
// of it, and more.)
//
// Term "energy": the squared error of each structure's energy per atom (or Huber's function of the error), in
// (eV/atom)^2, one count per structure. The loss is its mean or, as aenet has it, the root of its mean.

#ifndef RUTILE_LIB_POTENTIAL_TRAINING_ATOMISTIC_TASK_H_
#define RUTILE_LIB_POTENTIAL_TRAINING_ATOMISTIC_TASK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/base/parallel_for.h"
#include "lib/network/kernel_plan.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/data/feature_source.h"
#include "lib/potential/model/atomistic_model.h"
#include "lib/potential/model/loss_function.h"
#include "lib/potential/model/task_options.h"
#include "lib/potential/training/example_errors.h"
#include "lib/potential/training/largest_batch.h"
#include "lib/task/eager_options.h"
#include "lib/task/task.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

class AtomisticTask : public Task {
 public:
  // Statistics, scales and atomic energies come from `train` alone (indices of structures, each with an energy).
  // `data` is copied (it shares its files). Errors of AtomisticModel::Create and FeatureSource::Create; CHECK-fails
  // when the options weigh forces or stress.
  static absl::StatusOr<std::unique_ptr<AtomisticTask>> Create(const AtomicData& data,
                                                               const AtomisticTaskOptions& options,
                                                               absl::Span<const int64_t> train);
  ~AtomisticTask() override;

  int64_t num_examples() const override { return data_.num_structures(); }
  double ExampleCost(int64_t example) const override { return static_cast<double>(data_.num_atoms(example)); }
  // Tensors: row i64 [A], where in the task's own features an atom's are, so that none is copied; atoms of one species
  // next to each other; species_offset i64 [species + 1], whose last is A; structure i32 [A]; num_atoms f64 [B]; target
  // f64 [B], energy per atom less atomic energies, eV; weight f64 [B]; example i64 [B]; made_by i64 [1], this task's
  // number. What it made of the same examples before is left as it is.
  absl::Status MakeBatch(absl::Span<const int64_t> examples, NamedTensors* batch) const override;
  // With x [A, F], the standardized features of its rows.
  NamedTensors CompleteBatch(const NamedTensors& batch) const override;
  // With a preset other than default.
  void ReserveBatch(NamedTensors* batch) const override;

  absl::StatusOr<std::vector<double>> SamplingWeights(SamplingPolicy policy,
                                                      absl::Span<const int64_t> examples) override;
  // With preset max-autotune the kernel's plan belongs to it: a resumed run keeps its bits.
  NamedTensors State() const override;
  absl::Status SetState(const NamedTensors& state) override;

  std::map<std::string, std::string> ResumeConfig() const override { return ResumeConfigOf(options_); }

  DType parameter_dtype() const override { return options_.precision; }
  std::vector<ParameterSlice> parameter_slices() const override { return model_.parameter_slices(); }
  Tensor InitialParameters(uint64_t seed) const override { return model_.InitialParameters(seed); }

  std::vector<LossTerm> terms() const override { return {{"energy", "(eV/atom)^2"}}; }
  Loss CombineTerms(const TermSums& sums) const override;
  std::string loss_unit() const override { return options_.loss.kind == LossKind::kRmse ? "eV/atom" : "(eV/atom)^2"; }
  at::Tensor ExampleLosses(const at::Tensor& parameters, const NamedTensors& batch) const override;
  at::Tensor EagerLosses(const at::Tensor& parameters, const NamedTensors& batch,
                         const EagerOptions& eager) const override;
  absl::Status CheckEager(const EagerOptions& eager) const override { return absl::OkStatus(); }
  std::vector<double> ExampleCounts(const NamedTensors& batch) const override;
  // Through NetworkKernel. One thread at a time may call this and Evaluate; num_threads work inside.
  absl::Status AccumulateGradients(const Tensor& parameters, const NamedTensors& batch, absl::Span<Tensor> gradients,
                                   TermSums* sums) override;
  // Networks that rest as a whole are left out.
  void SetFrozen(const std::vector<bool>& slices) override;
  void SetMixedPrecision(bool on) override { mixed_is_on_ = on; }

  int num_metric_sums() const override { return 3; }
  // Features of the batches that are evaluated first, up to 64 MiB of them, are kept in the form that the kernel reads,
  // for when the same batches come again (validation); others are read where they lie. Results do not depend on it.
  absl::Status Evaluate(const Tensor& parameters, const NamedTensors& batch, TermSums* sums,
                        absl::Span<double> metric_sums) override;
  std::vector<Metric> Metrics(
      absl::Span<const double> metric_sums) const override;  // energy_rmse, energy_mae: meV/atom

  absl::Status WriteModel(absl::string_view path, const Tensor& parameters, const Metadata& extra) const override {
    return model_.Write(path, parameters, extra);
  }

  const AtomisticModel& model() const { return model_; }

  // What the preset did, for people; "" where there is nothing to say.
  const std::string& compile_message() const { return compile_message_; }

 private:
  template <typename T>
  struct Native;  // the kernel and its scratch memory, of the parameters' type

  AtomisticTask(const AtomicData& data, const AtomisticTaskOptions& options, AtomisticModel model);
  void FillExamples();
  // Whether it was this task that made the batch, of these examples: MakeBatch has nothing to do, as in validations.
  bool IsBatchOf(absl::Span<const int64_t> examples, const NamedTensors& batch) const;
  absl::Status Standardize(const FeatureSource& features);
  template <typename Source, typename T>
  absl::Status StandardizeInto(const FeatureSource& features, T* rows) const;
  // What options_.compile asks for.
  template <typename T>
  absl::Status Prepare(Native<T>* native, absl::Span<const int64_t> train);
  // And the memory that it needs for the largest batch.
  void SetPlan(const KernelPlan& plan);
  // Error of the energy per atom of each structure, eV: what a forward pass gives, in training one that is kept.
  template <typename T>
  void Errors(Native<T>* native, const Tensor& parameters, const NamedTensors& batch, bool keep) const;
  template <typename T>
  void AccumulateNative(Native<T>* native, const Tensor& parameters, const NamedTensors& batch, Tensor* gradient,
                        TermSums* sums);

  const AtomicData data_;
  const AtomisticTaskOptions options_;
  const AtomisticModel model_;
  const ErrorLoss energy_loss_;
  ExampleErrors example_errors_;
  const int64_t number_;  // among the tasks of this process
  // What batches are made of, each in one place, so that a batch takes few misses of the cache.
  struct Example {
    double num_atoms, target, weight;
    bool has_energy;
  };
  std::vector<Example> examples_;     // [S]
  Tensor rows_;                       // [A, F] standardized, in the parameters' type; by structure, then by species
  std::vector<int64_t> species_row_;  // [S, species + 1]: rows of each species in a structure; the last is the end
  std::unique_ptr<ThreadPool> pool_;
  LargestBatch largest_;  // with a preset other than default
  std::string compile_message_;
  bool mixed_is_on_ = true;  // where options_.mixed_precision
  std::unique_ptr<Native<float>> native32_;
  std::unique_ptr<Native<double>> native64_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_TRAINING_ATOMISTIC_TASK_H_
