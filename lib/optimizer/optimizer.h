// Optimizers: they update one flat tensor of parameters, or ranges of it, from a gradient.
//
// Parameters, gradient and state are flat tensors of one type (F32 or F64), updated in a single vectorized pass. The
// formulas are PyTorch's, operation by operation; results differ from PyTorch by rounding alone. L-BFGS takes the loss
// as a function instead of one gradient (lib/optimizer/methods/lbfgs.h). lib/optimizer/grouped_optimizer.h combines
// several optimizers.
//
// Example:
//   OptimizerOptions options;  // Adam
//   options.learning_rate = 1e-3;
//   RETURN_IF_ERROR(CheckOptimizerOptions(options));
//   const std::unique_ptr<Optimizer> optimizer = MakeOptimizer(options, DType::kF32, num_parameters);
//   for (int step = 0; step < 1000; ++step) {
//     ...  // compute `gradient` at `parameters`
//     optimizer->Step(options.learning_rate, gradient, &parameters);
//   }
//   const NamedTensors state = optimizer->State();  // for a checkpoint

#ifndef RUTILE_LIB_OPTIMIZER_OPTIMIZER_H_
#define RUTILE_LIB_OPTIMIZER_OPTIMIZER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "lib/machine/parallel_for.h"
#include "lib/optimizer/optimizer_options.h"
#include "lib/optimizer/parameter_range.h"
#include "lib/optimizer/step_visitor.h"
#include "lib/task/gradients/row_gradients.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Updates parameters from gradients, step by step. A step can be taken as a whole (Step), or in parts by several
// threads (BeginStep, then StepPart for each part).
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // Performs one step with `scale` times the gradient, each product rounded. parameters, gradient: [P], of the
  // optimizer's type and no shorter than its ranges (CHECK-fails otherwise).
  void Step(double learning_rate, const Tensor& gradient, Tensor* parameters, double scale = 1);

  // Begins a step in parts. The StepPart calls must cover each parameter once, in any order; they give the bits of
  // Step.
  virtual void BeginStep(double learning_rate) = 0;
  // Counts a step of the run that has no gradient and moves nothing. Only whoever takes turns by steps minds.
  virtual void PassStep() {}
  // Updates the parameters [begin, begin + n). gradient: [n] of these. Threads may call it concurrently for other
  // parts.
  virtual void StepPart(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters) = 0;

  // Copies the old parameters of the part to `kept` [n] before StepPart. Returns the sum of squares of `scale` times
  // the gradient, each product rounded, summed in fp64: not finite if a product is not.
  virtual double StepPartKeeping(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters, Tensor* kept);

  // Sets the threads of Step and StepLargePart. By default, and with nullptr, there is one. The pool must outlive this.
  void SetThreads(ThreadPool* pool) { pool_ = pool; }
  ThreadPool* threads() const { return pool_; }
  // Does the same as StepPart, to the bit, with several threads.
  void StepLargePart(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters);

  // Performs one step with a gradient that is 0 outside of its ranges, whose parameters and state alone are touched:
  // the bits of Step for options of MovesOnlyRowsWithGradients, and for LazyRows.
  void StepRows(double learning_rate, const RowGradient& gradient, double scale, Tensor* parameters);

  // Tells `visitor` the step that BeginStep has begun, for a caller who performs it on copies instead of calling
  // StepPart. The step count is then up to date here, parameters and averages only once the caller copies them back.
  // CHECK-fails on LazyRows, whose steps depend on the gradient, and on RowwiseAdagrad, whose state is of rows.
  virtual void VisitStep(StepVisitor* visitor) const;

  // Returns the parameters to evaluate and to write as a model while `parameters` [P] are trained. These are the same
  // but for schedule-free optimizers, which train at one point and evaluate at another (O(P), into memory of the
  // optimizer that is valid until the next call). Checkpoints do not store the result: it follows from parameters and
  // State.
  virtual const Tensor& EvaluationParameters(const Tensor& parameters) { return parameters; }

  // [slices of the task] true for slices that the next step neither updates nor reads the gradient of; empty if none is
  // frozen. The address changes only if the content does.
  virtual const std::vector<bool>& frozen() const;

  // Returns everything that the next step depends on, for checkpoints. The tensors share memory with the optimizer:
  // write or copy them before the next step.
  virtual NamedTensors State() const = 0;
  // Copies the state. INVALID_ARGUMENT, and no change, if a tensor is missing or has another type or size.
  virtual absl::Status SetState(const NamedTensors& state) = 0;
  // Returns where a part that would end at `position` must end instead, no earlier. After BeginStep.
  virtual int64_t PartEnd(int64_t position) const { return position; }

 private:
  ThreadPool* pool_ = nullptr;
};

// True if a parameter whose gradient is 0 keeps its value and its state in every step (a row, with rowwise-adagrad).
bool MovesOnlyRowsWithGradients(const OptimizerOptions& options);

// Makes an optimizer of these ranges; other parameters stay unchanged. Its state covers the ranges alone, n values in
// their order. CHECK-fails on L-BFGS and on a type other than F32 and F64.
std::unique_ptr<Optimizer> MakeOptimizer(const OptimizerOptions& options, DType dtype,
                                         std::vector<ParameterRange> ranges);
// Makes an optimizer of all parameters.
std::unique_ptr<Optimizer> MakeOptimizer(const OptimizerOptions& options, DType dtype, int64_t num_parameters);

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_OPTIMIZER_H_
