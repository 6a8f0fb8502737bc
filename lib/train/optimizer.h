// One optimiser step on one flat tensor of parameters: the part of a training step that moves.
//
// Parameters, gradient and state are flat tensors of one type (F32 or F64), updated in a single vectorised pass. The
// formulas are PyTorch's, operation by operation; results differ from it by rounding alone. L-BFGS asks for the loss
// as a function instead of one gradient, and lives in lib/train/lbfgs.h.

#ifndef RUTILE_LIB_TRAIN_OPTIMIZER_H_
#define RUTILE_LIB_TRAIN_OPTIMIZER_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

enum class OptimizerKind { kAdam, kAdamW, kSgd, kLbfgs };

absl::string_view OptimizerName(OptimizerKind kind);  // "adam", "adamw", "sgd", "lbfgs"

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::kAdam;
  double learning_rate = 1e-3;
  // Adam and AdamW.
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  // Adam, SGD: added to the gradient (L2). AdamW: shrinks the parameters, lr * weight_decay each step.
  double weight_decay = 0;
  // SGD.
  double momentum = 0;
  double dampening = 0;
  bool nesterov = false;
  // L-BFGS, strong Wolfe line search.
  int64_t history_size = 100;
  double tolerance_gradient = 1e-7;  // of the largest component
  double tolerance_change = 1e-9;    // of parameters and loss
};

// The defaults of that optimiser in PyTorch: learning rate 1e-3 (Adam, AdamW), 1e-2 (SGD), 1 (L-BFGS); weight decay
// 1e-2 for AdamW, else 0. INVALID_ARGUMENT naming the choices.
absl::StatusOr<OptimizerOptions> DefaultOptimizerOptions(absl::string_view name);

// INVALID_ARGUMENT naming the option, its value and its range.
absl::Status CheckOptimizerOptions(const OptimizerOptions& options);

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // parameters, gradient: [P], of the type and size the optimiser was made for (CHECK-fails otherwise).
  virtual void Step(double learning_rate, const Tensor& gradient, Tensor* parameters) = 0;

  // All that the next step depends on, for checkpoints. The tensors share memory with the optimiser: write or copy
  // them before the next step.
  virtual NamedTensors State() const = 0;
  // Copies. INVALID_ARGUMENT when a tensor is missing or has another type or size; then nothing has changed.
  virtual absl::Status SetState(const NamedTensors& state) = 0;
};

// Adam, AdamW or SGD; CHECK-fails on L-BFGS and on a type other than F32 and F64.
std::unique_ptr<Optimizer> MakeOptimizer(const OptimizerOptions& options, DType dtype, int64_t num_parameters);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_OPTIMIZER_H_
