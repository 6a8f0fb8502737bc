// The seam between what is learned (potentials, knowledge graphs) and what trains, evaluates and explains it.
//
// A Task is data, a model's shape and a loss. It holds no parameters: they are one flat tensor that the caller owns and
// passes to every call, so that averaged weights, checkpoints and restored runs need no swapping. ExampleLosses
// *defines* the task; AccumulateGradients is what the trainer calls, and a fused kernel overrides it.

#ifndef RUTILE_LIB_TASK_TASK_H_
#define RUTILE_LIB_TASK_TASK_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/parallel_for.h"
#include "lib/task/eager_options.h"
#include "lib/task/exchange.h"
#include "lib/task/gradient_observer.h"
#include "lib/task/gradient_sink.h"
#include "lib/task/parameter_slice.h"
#include "lib/task/sampling_policy.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_file.h"

namespace at {
class Tensor;  // headers stay free of LibTorch; only those who call the reference include it
}

namespace rutile {

// One term of the loss, as it is summed over examples: "energy" in (eV/atom)^2.
struct LossTerm {
  std::string name;
  std::string unit;
};

// Sums of each term over examples, and how many values were summed (structures, force components, triples).
// What is added over batches, accumulation windows and processes; only then a loss is formed.
struct TermSums {
  std::vector<double> sum;    // [T]
  std::vector<double> count;  // [T]
  explicit TermSums(int num_terms = 0) : sum(num_terms, 0.0), count(num_terms, 0.0) {}
  void Add(const TermSums& other);
};

struct Loss {
  double value = 0;
  absl::InlinedVector<double, 4> weight;  // [T] d value / d sum[t], the counts held constant
};

// A figure of merit for people: "energy_rmse", 8.1, "meV/atom".
struct Metric {
  std::string name;
  std::string unit;
  double value = 0;
  bool higher_is_better = false;
};

class Task {
 public:
  virtual ~Task() = default;

  // ---- data
  virtual int64_t num_examples() const = 0;
  // Relative work of an example (atoms), for load balance.
  virtual double ExampleCost(int64_t example) const = 0;
  // Fills `batch`, reusing its memory where shapes allow. Thread-safe. No LibTorch inside. One example may be in
  // `examples` several times.
  virtual absl::Status MakeBatch(absl::Span<const int64_t> examples, NamedTensors* batch) const = 0;

  // The batch with everything in it, for those who have not the task's data: where MakeBatch leaves numbers of rows,
  // these rows. Default: the batch as it is.
  virtual NamedTensors CompleteBatch(const NamedTensors& batch) const { return batch; }

  // Takes the memory of the largest batch that MakeBatch will fill, where the task knows it. Default: does nothing.
  virtual void ReserveBatch(NamedTensors* batch) const {}

  // ---- epochs
  // Called before the batches of an epoch are made, and never while MakeBatch runs. A task that learns from a changing
  // part of its data (forces of some structures) chooses the part here, as a function of its seed and `epoch` (from 0)
  // alone: a run that is resumed inside an epoch calls it again. training = false: what comes is evaluated, all of it.
  // L-BFGS, whose function must not change, trains with epoch 0 always.
  virtual void StartEpoch(int64_t epoch, bool training) {}

  // Not negative, finite, not all 0: how often each of `examples` shall be drawn, relative to the others. Asked after
  // StartEpoch, for policies other than kUniform; a task may begin to remember errors when it is asked for
  // kErrorWeighted. Default: INVALID_ARGUMENT, the task has none.
  virtual absl::StatusOr<std::vector<double>> SamplingWeights(SamplingPolicy policy,
                                                              absl::Span<const int64_t> examples);

  // What training has told the task and a resumed run must still know (the last error of each example), as tensors of
  // their own memory. Checkpoints keep it as task.NAME. What follows from seed and epoch does not belong here.
  virtual NamedTensors State() const { return NamedTensors(); }
  // Takes what State gave, of this or another run on the same data; empty: forgets all, a new run begins.
  // INVALID_ARGUMENT naming the tensor that does not fit. Default: INVALID_ARGUMENT unless empty.
  virtual absl::Status SetState(const NamedTensors& state);

  // Options of the task that decide the course of a run, as text by name: a resumed run must have the same.
  virtual std::map<std::string, std::string> ResumeConfig() const { return {}; }

  // ---- parameters
  virtual DType parameter_dtype() const = 0;  // F32 or F64
  virtual std::vector<ParameterSlice> parameter_slices() const = 0;
  int64_t num_parameters() const;
  // A new flat tensor of initial values.
  virtual Tensor InitialParameters(uint64_t seed) const = 0;

  // ---- loss
  virtual std::vector<LossTerm> terms() const = 0;
  virtual Loss CombineTerms(const TermSums& sums) const = 0;
  // Of the loss's value, "eV/atom"; "" when it has none.
  virtual std::string loss_unit() const { return ""; }

  // The definition: losses [B, T] of each example and term, in fp64 or the parameters' type, differentiable in
  // `parameters` (flat, a leaf or computed). What an example lacks (no forces) is 0 and does not count.
  virtual at::Tensor ExampleLosses(const at::Tensor& parameters, const NamedTensors& batch) const = 0;
  // ExampleLosses on the parameters' device, with networks in the type or form that the options name (CheckEager has
  // passed); losses, and all that is not a network, as there. Default: ExampleLosses.
  virtual at::Tensor EagerLosses(const at::Tensor& parameters, const NamedTensors& batch,
                                 const EagerOptions& options) const;
  // INVALID_ARGUMENT: which of the options this task cannot do. Default: all but the plain ones.
  virtual absl::Status CheckEager(const EagerOptions& options) const;
  // [B, T], row-major: how many values each example adds to each term.
  virtual std::vector<double> ExampleCounts(const NamedTensors& batch) const = 0;

  // Adds the sums over the batch to `sums`, and d sum[t] / d parameters to gradients[t] (flat, the parameters' type).
  // Default: ReferenceGradients of lib/task/reference_gradients.h. An override must agree with it
  // (lib/testing:gradient_check).
  virtual absl::Status AccumulateGradients(const Tensor& parameters, const NamedTensors& batch,
                                           absl::Span<Tensor> gradients, TermSums* sums);

  // Parts of the gradient that AccumulateGradients announces to observer() (nullptr: to nobody), in the order in which
  // it finishes them: the same for every batch and in every process. A batch may announce them as far as it pleases, or
  // not at all. For tasks of one term. Default: none.
  virtual std::vector<GradientRange> EarlyGradients() const { return {}; }
  // For the calls that follow; nullptr, as at first: nobody. It must live until then.
  void SetObserver(GradientObserver* observer) { observer_ = observer; }
  GradientObserver* observer() const { return observer_; }

  // Whether AccumulateGradients can set gradients instead of adding to them, which saves passes over large ones.
  // Default: no.
  virtual bool OverwritesGradients() const { return false; }
  // For the calls that follow, where OverwritesGradients(): gradients hold anything when they come, also NaN, and what
  // would have been added to zeros when they go. At first: no.
  void SetOverwriting(bool on) { overwriting_ = on; }
  bool overwriting() const { return overwriting_; }

  // Whether AccumulateGradients hands parts of gradients[0] to taker(), as many as it pleases, where it overwrites. For
  // tasks of one term whose weight CombineTerms makes of counts alone, whatever the sum. Default: no.
  virtual bool StreamsGradients() const { return false; }
  // For the calls that follow, which overwrite and have no observer; nullptr, as at first: nobody. It must live until
  // then. What is handed over never gets into gradients[0].
  void SetSink(GradientSink* sink) { sink_ = sink; }
  GradientSink* sink() const { return sink_; }

  // The task's threads, for passes over large parameters between its calls; nullptr, the default: one thread does them.
  virtual ThreadPool* Threads() { return nullptr; }

  // Divides the model over processes: each moves some of its parameters, for batches that all of them see whole. From
  // now on AccumulateGradients of training batches is called in all processes for the same batches, and meets the
  // others in them. It reads those parameters alone that this process owns or that nobody owns. Sums are whole in each
  // process. Gradients are whole where this process owns parameters, a part of a sum over all processes where nobody
  // does, and anything elsewhere. Returned: what each process owns, by rank, ascending. `exchange` must live until the
  // next call; nullptr: the model is whole again, as at first, and nothing is returned. For tasks of one term. Default:
  // INVALID_ARGUMENT, the task cannot.
  virtual absl::StatusOr<std::vector<std::vector<GradientRange>>> ShardModel(Exchange* exchange);

  // Whether processes wait for each other in AccumulateGradients of training batches, so that one whose share of a
  // batch is empty must call it, too, with a batch of no examples. Default: no.
  virtual bool SynchronizesBatches() const { return false; }

  // Parameters that do not move for now, so that work on their gradients can be saved: [slices], true for each of
  // parameter_slices() that rests; empty: none. Afterward AccumulateGradients may leave anything in their parts of
  // the gradients, also NaN, and nobody reads these; sums and all other gradients are as ever. Called between steps.
  // Default: remembers it for resting(), which the reference looks at; an override calls it, too.
  virtual void SetFrozen(const std::vector<bool>& slices) { frozen_ = slices; }
  const std::vector<bool>& frozen() const { return frozen_; }

  // Of tasks whose own kernels have a mixed precision and were asked for it: whether AccumulateGradients uses it, as it
  // does at first. Not while gradients are compared with the reference: rounding to 16 bits would hide mistakes.
  // Default: there is none.
  virtual void SetMixedPrecision(bool on) {}

  // Called after the optimizer's step, before parameters are averaged: the task may set its buffers (running statistics
  // of batch norms) from what AccumulateGradients has seen since the last call. Default: there are none.
  virtual void FinishStep(Tensor* parameters) {}

  // ---- evaluation
  // How many running sums the task's metrics need.
  virtual int num_metric_sums() const = 0;
  // Adds the batch to `sums` (as above, without gradients) and to metric_sums [num_metric_sums()].
  virtual absl::Status Evaluate(const Tensor& parameters, const NamedTensors& batch, TermSums* sums,
                                absl::Span<double> metric_sums) = 0;
  virtual std::vector<Metric> Metrics(absl::Span<const double> metric_sums) const = 0;
  // Whether there is an evaluation where the parameters are, on a GPU: EvaluateEager adds what Evaluate does, to
  // rounding, by LibTorch's operations, whose exceptions it lets pass, in the parameters' type. Default: there is none.
  virtual bool EvaluatesOnDevices() const { return false; }
  virtual void EvaluateEager(const at::Tensor& parameters, const NamedTensors& batch, TermSums* sums,
                             absl::Span<double> metric_sums) const;

  // ---- the model file (kind potential/1, kge/1): all that predicting needs.
  // `extra` joins the file's metadata (provenance, epoch, validation loss). Called beside training, by another thread:
  // it reads nothing that training changes.
  virtual absl::Status WriteModel(absl::string_view path, const Tensor& parameters, const Metadata& extra) const = 0;

 private:
  std::vector<bool> frozen_;
  GradientObserver* observer_ = nullptr;
  GradientSink* sink_ = nullptr;
  bool overwriting_ = false;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_TASK_H_
