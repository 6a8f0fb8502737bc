// The seam between what is learned (potentials, knowledge graphs) and what trains, evaluates and explains it.
//
// A Task is data, a model's shape and a loss. It holds no parameters: they are one flat tensor that the caller owns and
// passes to every call, so that averaged weights, checkpoints and restored runs need no swapping. ExampleLosses
// *defines* the task; AccumulateGradients is what the trainer calls, and a fused kernel overrides it.
//
// A step of plain gradient descent on any task of one term with F64 parameters:
//
//   Tensor parameters = task->InitialParameters(/*seed=*/1);  // flat, owned here
//   NamedTensors batch;
//   RETURN_IF_ERROR(task->MakeBatch(examples, &batch));
//   std::vector<Tensor> gradients = {Tensor::Zeros(DType::kF64, {task->num_parameters()})};
//   TermSums sums(1);
//   RETURN_IF_ERROR(task->AccumulateGradients(parameters, batch, absl::MakeSpan(gradients), &sums));
//   const Loss loss = task->CombineTerms(sums);
//   const double scale = rate * loss.weight[0];
//   for (int64_t i = 0; i < task->num_parameters(); ++i) {
//     parameters.mutable_values<double>()[i] -= scale * gradients[0].values<double>()[i];
//   }
//   task->FinishStep(&parameters);

#ifndef RUTILE_LIB_TASK_TASK_H_
#define RUTILE_LIB_TASK_TASK_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/machine/parallel_for.h"
#include "lib/task/loss_terms.h"
#include "lib/task/parameter_slice.h"
#include "lib/task/resume_rule.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_file.h"

namespace at {
class Tensor;  // headers stay free of LibTorch; only those who call the reference include it
}

namespace rutile {

class EagerTask;
class ExampleSampling;
class FramedModel;
class GradientStream;
class ModelSharding;
class ResidentGradients;

// A figure of merit for people: "energy_rmse", 8.1, "meV/atom".
struct Metric {
  std::string name;
  std::string unit;
  double value = 0;
  bool higher_is_better = false;
};

// What trainers, evaluation and tools know of a domain (potentials, knowledge graphs). The methods without a default
// make a task; what only some tasks can do is in interfaces of their own, the capabilities at the end. One thread calls
// a task at a time, but for MakeBatch and WriteModel, which say who else may call them.
class Task {
 public:
  virtual ~Task() = default;

  // ---- data
  virtual int64_t num_examples() const = 0;
  // Relative work of an example (atoms), for load balance.
  virtual double ExampleCost(int64_t example) const = 0;
  // Fills `batch`, reusing its memory where shapes allow. It is thread-safe and uses no LibTorch. `examples` may name
  // an example several times.
  virtual absl::Status MakeBatch(absl::Span<const int64_t> examples, NamedTensors* batch) const = 0;

  // The same for batch `number` of an epoch, from 0, whose examples, or this process's share of them, these are. A task
  // in which the examples of a batch have something in common that no example tells, such as a dropout mask, overrides
  // it. By default it calls MakeBatch, which makes such a task's batch 0.
  virtual absl::Status MakeNumberedBatch(int64_t number, absl::Span<const int64_t> examples,
                                         NamedTensors* batch) const {
    return MakeBatch(examples, batch);
  }

  // Returns the batch with all its data, for readers that do not have the task's data: row numbers that MakeBatch
  // leaves in a batch are replaced by the rows. By default it returns the batch unchanged. Errors of reading the data.
  virtual absl::StatusOr<NamedTensors> CompleteBatch(const NamedTensors& batch) const { return batch; }

  // Allocates memory for the largest batch that MakeBatch will fill, if the task knows it. By default it does nothing.
  virtual void ReserveBatch(NamedTensors* batch) const {}

  // ---- epochs
  // Called before the batches of an epoch are made, and never while MakeBatch runs. A task that learns from a changing
  // part of its data (forces of some structures) chooses that part here, as a function of its seed and `epoch` (from 0)
  // alone, because a run that is resumed inside an epoch calls it again. With training = false the batches that follow
  // are for evaluation and use all data. L-BFGS always trains with epoch 0, since its function must not change.
  virtual void StartEpoch(int64_t epoch, bool training) {}

  // Returns what the task has learned from training and a resumed run still needs (the last error of each example), as
  // tensors that own their memory. Checkpoints store it as task.NAME. What follows from seed and epoch does not belong
  // here.
  virtual NamedTensors State() const { return NamedTensors(); }
  // Restores what State returned, in this or another run on the same data. An empty state resets the task for a new
  // run. INVALID_ARGUMENT naming the tensor that does not fit; by default each state that is not empty is refused so.
  virtual absl::Status SetState(const NamedTensors& state);

  // Returns the task's options that must match on resume, as text by name.
  virtual std::map<std::string, std::string> ResumeConfig() const { return {}; }
  // Returns the rules of those recorded options of which resuming demands more than the same value.
  virtual absl::Span<const ResumeRule> ResumeRules() const { return {}; }

  // ---- parameters
  virtual DType parameter_dtype() const = 0;  // F32 or F64
  virtual std::vector<ParameterSlice> parameter_slices() const = 0;
  int64_t num_parameters() const;
  // Returns a new flat tensor of initial values.
  virtual Tensor InitialParameters(uint64_t seed) const = 0;

  // ---- loss
  virtual std::vector<LossTerm> terms() const = 0;
  virtual Loss CombineTerms(const TermSums& sums) const = 0;
  // Returns the unit of the loss's value, "eV/atom"; "" if it has none.
  virtual std::string loss_unit() const { return ""; }

  // Defines the task: returns the losses [B, T] of each example and term, in fp64 or the parameters' type,
  // differentiable in `parameters` (flat, a leaf or computed). A value that an example lacks (forces) adds 0 and is not
  // counted. batch: as CompleteBatch returns it.
  virtual at::Tensor ExampleLosses(const at::Tensor& parameters, const NamedTensors& batch) const = 0;
  // Returns how many values each example adds to each term, [B, T], row-major. batch: as CompleteBatch returns it.
  virtual std::vector<double> ExampleCounts(const NamedTensors& batch) const = 0;

  // Adds the sums over the batch to `sums`, and d sum[t] / d parameters to gradients[t] (flat, the parameters' type).
  // By default it calls ReferenceGradients of lib/task/torch/reference_gradients.h. An override must agree with that
  // (lib/testing:gradient_check).
  virtual absl::Status AccumulateGradients(const Tensor& parameters, const NamedTensors& batch,
                                           absl::Span<Tensor> gradients, TermSums* sums);

  // Returns the task's threads, for passes over large parameters between its calls; nullptr, the default, for one
  // thread.
  virtual ThreadPool* Threads() { return nullptr; }

  // Freezes parameters, so that work on their gradients can be saved: `slices` has one flag for each of
  // parameter_slices(); if it is empty, none is frozen. Afterward AccumulateGradients leaves unspecified values, also
  // NaN, in the frozen parts of the gradients, which nobody reads; sums and other gradients do not change. Called
  // between steps. The default stores the flags for frozen(), which the reference reads; an override must call it too.
  virtual void SetFrozen(const std::vector<bool>& slices) { frozen_ = slices; }
  const std::vector<bool>& frozen() const { return frozen_; }

  // Switches the mixed precision of the task's own kernels, if it was asked for one; it is on by default. The trainer
  // switches it off while it compares gradients with the reference, since rounding to 16 bits would hide mistakes. By
  // default a task has none, and this does nothing.
  virtual void SetMixedPrecision(bool on) {}

  // Called after the optimizer's step, before parameters are averaged. The task may set its buffers (running statistics
  // of batch norms) from what AccumulateGradients has seen since the last call. By default it has no buffers.
  virtual void FinishStep(Tensor* parameters) {}

  // ---- evaluation
  // Returns how many running sums the task's metrics need.
  virtual int num_metric_sums() const = 0;
  // Adds the batch's terms to `sums`, as AccumulateGradients does but without gradients, and its part of the metrics to
  // metric_sums [num_metric_sums()].
  virtual absl::Status Evaluate(const Tensor& parameters, const NamedTensors& batch, TermSums* sums,
                                absl::Span<double> metric_sums) = 0;
  virtual std::vector<Metric> Metrics(absl::Span<const double> metric_sums) const = 0;

  // ---- the model file (kind potential/1, kge/1): all that predicting needs.
  // Writes the model file. `extra` is added to the file's metadata (provenance, epoch, validation loss). Another thread
  // may call it during training, so it reads nothing that training changes.
  virtual absl::Status WriteModel(absl::string_view path, const Tensor& parameters, const Metadata& extra) const = 0;

  // ---- capabilities: nullptr, the default, if the task does not have one. They are parts of the task and live as long
  // as it does; a task always has the same ones.
  // Overwrites a large gradient, and passes on finished parts of it (gradient_stream.h).
  virtual GradientStream* stream() { return nullptr; }
  const GradientStream* stream() const { return const_cast<Task*>(this)->stream(); }
  // Leaves gradients on a GPU, where the parameters stay (resident_gradients.h).
  virtual ResidentGradients* resident() { return nullptr; }
  const ResidentGradients* resident() const { return const_cast<Task*>(this)->resident(); }
  // Computes training batches together with other processes (model_sharding.h).
  virtual ModelSharding* sharding() { return nullptr; }
  const ModelSharding* sharding() const { return const_cast<Task*>(this)->sharding(); }
  // Weighs examples for sampling policies that are not uniform (example_sampling.h).
  virtual ExampleSampling* sampling() { return nullptr; }
  // Has a model with scales that the training set fixed (framed_model.h).
  virtual const FramedModel* framed() const { return nullptr; }
  // Computes losses by LibTorch in other types, as TorchScript or on a GPU (eager_task.h).
  virtual const EagerTask* eager() const { return nullptr; }

 private:
  std::vector<bool> frozen_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_TASK_H_
