// Trains a potential on energies alone, from cached features: the Task that `train` uses when neither forces nor stress
// are learned. (ForceTask can do this too, but is slower at it.)
//
// It has one term, "energy": the squared error of each structure's energy per atom (or Huber's function of the error),
// in (eV/atom)^2, with one count per structure. The loss is the mean of this or, as in aenet, the root of the mean.

#ifndef RUTILE_LIB_POTENTIAL_TRAINING_ATOMISTIC_TASK_H_
#define RUTILE_LIB_POTENTIAL_TRAINING_ATOMISTIC_TASK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/network/kernel_plan.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/data/feature_source.h"
#include "lib/potential/model/atomistic_model.h"
#include "lib/potential/model/loss_function.h"
#include "lib/potential/model/task_options.h"
#include "lib/potential/training/largest_batch.h"
#include "lib/potential/training/potential_task.h"
#include "lib/task/eager_options.h"
#include "lib/task/task.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

class AtomisticTask : public PotentialTask {
 public:
  // Creates a task on `data`, which is copied (copies share its files). Statistics, scales and atomic energies come
  // from `train` alone: indices of structures, each with an energy. Errors are those of AtomisticModel::Create and
  // FeatureSource::Create; CHECK-fails when the options weigh forces or stress.
  static absl::StatusOr<std::unique_ptr<AtomisticTask>> Create(const AtomicData& data,
                                                               const AtomisticTaskOptions& options,
                                                               absl::Span<const int64_t> train);
  ~AtomisticTask() override;

  // Makes a batch of these tensors: row i64 [A], the rows of the atoms among all features, which are not copied, sorted
  // by species; species_offset i64 [species + 1], whose last element is A; structure i32 [A]; num_atoms f64 [B]; target
  // f64 [B], energy per atom less atomic energies, eV; weight f64 [B]; example i64 [B]; made_by i64 [1], this task's
  // number. A batch that this task made of the same examples is left as it is.
  absl::Status MakeBatch(absl::Span<const int64_t> examples, NamedTensors* batch) const override;
  // Adds x [A, F], the standardized features of the batch's rows.
  absl::StatusOr<NamedTensors> CompleteBatch(const NamedTensors& batch) const override;
  // Reserves memory with every preset except `default`.
  void ReserveBatch(NamedTensors* batch) const override;

  std::vector<LossTerm> terms() const override { return {{"energy", "(eV/atom)^2"}}; }
  Loss CombineTerms(const TermSums& sums) const override;
  std::string loss_unit() const override { return options_.loss.kind == LossKind::kRmse ? "eV/atom" : "(eV/atom)^2"; }
  at::Tensor ExampleLosses(const at::Tensor& parameters, const NamedTensors& batch) const override;
  at::Tensor EagerLosses(const at::Tensor& parameters, const NamedTensors& batch,
                         const EagerOptions& options) const override;
  std::vector<double> ExampleCounts(const NamedTensors& batch) const override;
  // Computes gradients by NetworkKernel. A batch of more than options.atoms_together atoms is computed in parts of
  // whole structures, so that memory does not grow with it. One thread at a time may call this and Evaluate;
  // num_threads work inside.
  absl::Status AccumulateGradients(const Tensor& parameters, const NamedTensors& batch, absl::Span<Tensor> gradients,
                                   TermSums* sums) override;
  void SetMixedPrecision(bool on) override { mixed_is_on_ = on; }

  int num_metric_sums() const override { return 3; }
  // Evaluates by NetworkKernel. Up to 64 MiB of transposed features are cached, for the batches that are evaluated
  // first, because validations evaluate the same batches again; other features are read where they lie. Results do not
  // depend on the cache.
  absl::Status Evaluate(const Tensor& parameters, const NamedTensors& batch, TermSums* sums,
                        absl::Span<double> metric_sums) override;
  std::vector<Metric> Metrics(
      absl::Span<const double> metric_sums) const override;  // energy_rmse, energy_mae: meV/atom

 private:
  class Impl;  // what depends on the type of parameters
  template <typename T>
  class ImplOf;

  AtomisticTask(const AtomicData& data, const AtomisticTaskOptions& options, AtomisticModel model);
  void FillExamples();
  // Returns the standardized features of a batch, [A, F], with scales_while_reading_.
  Tensor StandardizedRows(const NamedTensors& batch) const;
  // True if this task made the batch of these examples, as in repeated validations, so that MakeBatch has nothing to
  // do.
  bool IsBatchOf(absl::Span<const int64_t> examples, const NamedTensors& batch) const;
  // Does what the preset in options_.compile asks for.
  absl::Status Prepare(absl::Span<const int64_t> train);
  const KernelPlan& plan() const override;
  // Sets the plan and reserves the memory of the largest batch.
  void SetPlan(const KernelPlan& plan) override;
  void FreezeNetworks(const std::vector<bool>& networks) override;

  const ErrorLoss energy_loss_;
  const int64_t number_;  // identifies this task among those of the process
  // The numbers of one structure that batches are made of, side by side, so that making a batch costs few cache misses.
  struct Example {
    double num_atoms, target, weight;
    bool has_energy;
  };
  std::vector<Example> examples_;  // [S]
  // True if features are scaled batch by batch, from their files, as memory has no room for all of them.
  bool scales_while_reading_ = false;
  bool reads_scattered_ = false;  // from files that do not fit into memory
  int64_t most_atoms_ = 0;        // of a structure
  // Empty with scales_while_reading_.
  Tensor rows_;                       // [A, F] standardized, in the parameters' type; by structure, then by species
  std::vector<int64_t> species_row_;  // [S, species + 1]: rows of each species in a structure; the last is the end
  LargestBatch largest_;              // set with every preset except `default`
  bool mixed_is_on_ = true;           // counts only with options_.mixed_precision
  std::unique_ptr<Impl> impl_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_TRAINING_ATOMISTIC_TASK_H_
