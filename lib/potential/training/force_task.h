// Trains a potential on energies, forces and stresses: the Task that `train` uses whenever more than energies on cached
// features is wanted.
//
// Terms (in this order): "energy" in (eV/atom)^2, one count per structure that has one; with force_weight > 0 "force"
// in (eV/Angstrom)^2, three counts per atom; with stress_weight > 0 "stress" in (eV/Angstrom^3)^2, nine per structure.
// Sums and counts are multiplied by the structure's weight. Structures without forces or stress do not contribute to
// that term.
//
// Example, one gradient of a batch:
//
//   ASSIGN_OR_RETURN(const std::unique_ptr<ForceTask> task, ForceTask::Create(data, options, train));
//   const Tensor parameters = task->InitialParameters(/*seed=*/1);
//   task->StartEpoch(0, /*training=*/true);  // draws the epoch's sample of forces
//   NamedTensors batch;
//   RETURN_IF_ERROR(task->MakeBatch({0, 1, 2}, &batch));
//   // gradients: one tensor like `parameters` for each of task->terms(), zero at first
//   RETURN_IF_ERROR(task->AccumulateGradients(parameters, batch, absl::MakeSpan(gradients), &sums));
//   const Loss loss = task->CombineTerms(sums);

#ifndef RUTILE_LIB_POTENTIAL_TRAINING_FORCE_TASK_H_
#define RUTILE_LIB_POTENTIAL_TRAINING_FORCE_TASK_H_

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
#include "lib/potential/model/task_options.h"
#include "lib/potential/training/device_force_kernel.h"
#include "lib/potential/training/force_batch.h"
#include "lib/potential/training/force_sampler.h"
#include "lib/potential/training/potential_task.h"
#include "lib/task/eager_options.h"
#include "lib/task/task.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

class ForceTask : public PotentialTask {
 public:
  // Creates a task on `data`. Statistics, scales and atomic energies come from `train` alone: indices of structures,
  // each with an energy. INVALID_ARGUMENT: the errors of AtomisticModel::Create; a force or stress weight where no
  // training structure has forces or a stress; a structure with a stress but without a volume. steps: what does the
  // steps if options.gpu asks for a GPU.
  static absl::StatusOr<std::unique_ptr<ForceTask>> Create(const AtomicData& data, const AtomisticTaskOptions& options,
                                                           absl::Span<const int64_t> train,
                                                           const ForceStepMakers& steps = {});
  ~ForceTask() override;

  // Makes a batch with the tensors that ForceBatch names or, if a GPU does the steps, DeviceForceBatch; CompleteBatch
  // turns the second into the first.
  absl::Status MakeBatch(absl::Span<const int64_t> examples, NamedTensors* batch) const override;
  absl::StatusOr<NamedTensors> CompleteBatch(const NamedTensors& batch) const override;

  // Draws the sample of forces of a training epoch; all forces count in an evaluation.
  void StartEpoch(int64_t epoch, bool training) override;

  std::vector<LossTerm> terms() const override;
  Loss CombineTerms(const TermSums& sums) const override;
  std::string loss_unit() const override;
  at::Tensor ExampleLosses(const at::Tensor& parameters, const NamedTensors& batch) const override;
  at::Tensor EagerLosses(const at::Tensor& parameters, const NamedTensors& batch,
                         const EagerOptions& options) const override;
  std::vector<double> ExampleCounts(const NamedTensors& batch) const override;
  // Computes gradients by ForceKernel. One thread at a time may call this and Evaluate; num_threads work inside.
  absl::Status AccumulateGradients(const Tensor& parameters, const NamedTensors& batch, absl::Span<Tensor> gradients,
                                   TermSums* sums) override;
  void SetMixedPrecision(bool on) override;

  int num_metric_sums() const override { return 9; }
  absl::Status Evaluate(const Tensor& parameters, const NamedTensors& batch, TermSums* sums,
                        absl::Span<double> metric_sums) override;
  // Returns energy_rmse and energy_mae (meV/atom); force_rmse and force_mae (eV/Angstrom) and stress_rmse
  // (eV/Angstrom^3) for the terms that are learned.
  std::vector<Metric> Metrics(absl::Span<const double> metric_sums) const override;

 private:
  class Impl;  // what depends on the type of parameters
  template <typename T>
  class ImplOf;

  ForceTask(const AtomicData& data, const AtomisticTaskOptions& options, FeatureSource features, AtomisticModel model);
  bool forces() const { return options_.loss.force_weight > 0; }
  bool stress() const { return options_.loss.stress_weight > 0; }
  // Does what the preset in options_.compile asks for. It allocates memory by a rehearsal on the largest structures of
  // `train`, which is most of the memory that will be needed: pairs and sampled forces differ between batches.
  absl::Status Prepare(absl::Span<const int64_t> train);
  const KernelPlan& plan() const override;
  void SetPlan(const KernelPlan& plan) override;
  void FreezeNetworks(const std::vector<bool>& networks) override;

  const FeatureSource features_;
  std::unique_ptr<ForceSampler> sampler_;  // null when forces are not learned
  std::unique_ptr<ForceBatchMaker> maker_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_TRAINING_FORCE_TASK_H_
