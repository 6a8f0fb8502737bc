// One optimizer step on one flat tensor of parameters, or on some ranges of it: the part of a training step that moves.
//
// Parameters, gradient and state are flat tensors of one type (F32 or F64), updated in a single vectorized pass. The
// formulas are PyTorch's, operation by operation; results differ from it by rounding alone. L-BFGS asks for the loss
// as a function instead of one gradient, and lives in lib/optimizer/lbfgs.h; several optimizers at once are
// lib/optimizer/grouped_optimizer.h.

#ifndef RUTILE_LIB_OPTIMIZER_OPTIMIZER_H_
#define RUTILE_LIB_OPTIMIZER_OPTIMIZER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "lib/base/parallel_for.h"
#include "lib/optimizer/optimizer_options.h"
#include "lib/optimizer/parameter_range.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // parameters, gradient: [P], of the type that the optimizer was made for, and no shorter (CHECK-fails otherwise). The
  // step is that of `scale` times the gradient, each number rounded.
  void Step(double learning_rate, const Tensor& gradient, Tensor* parameters, double scale = 1);

  // The same in parts, in any order, each number of the parameters in one of them: to the bit what Step does.
  virtual void BeginStep(double learning_rate) = 0;
  // gradient: [n] of the parameters [begin, begin + n). Several threads may call it at once, for other parts.
  virtual void StepPart(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters) = 0;

  // StepPart, before which the parameters of the part are copied to `kept` [n]. Returns the sum
  // of squares of `scale` times the gradient, of each number rounded, in fp64: not finite where one is not.
  virtual double StepPartKeeping(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters, Tensor* kept);

  // Threads for Step and StepLargePart; at first, and with nullptr, there is one. The pool must live as long.
  void SetThreads(ThreadPool* pool) { pool_ = pool; }
  ThreadPool* threads() const { return pool_; }
  // StepPart, to the bit, by these threads.
  void StepLargePart(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters);

  // What to evaluate, and to write as a model, while `parameters` [P] are trained: these themselves, but for
  // schedule-free optimizers, which train at one point and evaluate another (O(P), into memory of the optimizer that is
  // valid until the next call). Never stepped from, nor kept in checkpoints: it follows from parameters and State.
  virtual const Tensor& EvaluationParameters(const Tensor& parameters) { return parameters; }

  // [slices of the task] true where the next step moves nothing and reads no gradient; empty when none rests. While the
  // answer is the same, so is its address.
  virtual const std::vector<bool>& frozen() const;

  // All that the next step depends on, for checkpoints. The tensors share memory with the optimizer: write or copy
  // them before the next step.
  virtual NamedTensors State() const = 0;
  // Copies. INVALID_ARGUMENT when a tensor is missing or has another type or size; then nothing has changed.
  virtual absl::Status SetState(const NamedTensors& state) = 0;

 private:
  // Where a part that a thread would end at `position` ends instead, no earlier.
  virtual int64_t PartEnd(int64_t position) const { return position; }

  ThreadPool* pool_ = nullptr;
};

// Of these ranges; elsewhere parameters stay. State is of the ranges alone, n numbers in their order. CHECK-fails on
// L-BFGS and on a type other than F32 and F64.
std::unique_ptr<Optimizer> MakeOptimizer(const OptimizerOptions& options, DType dtype,
                                         std::vector<ParameterRange> ranges);
// Of all.
std::unique_ptr<Optimizer> MakeOptimizer(const OptimizerOptions& options, DType dtype, int64_t num_parameters);

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_OPTIMIZER_H_
