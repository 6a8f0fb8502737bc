// Derivatives of a run's last state by its gradients, one step at a time from the end: what influence by unrolling a
// run needs of an optimizer.
//
// A step takes the state (parameters, m, v) and the gradient g to the next state. With the derivatives of a quantity by
// the state after the step, StepBack returns those by g, and replaces the others by the derivatives by the state before
// it at constant g. The gradient depends on the parameters, too: the caller adds the product of its derivative (the
// Hessian of the batch's loss) and the vector returned.
//
//   OptimizerState after = before;
//   TakeStep(step, gradient, &after);
//   const std::vector<double> by_gradient = StepBack(step, before, after, gradient, &adjoint);

#ifndef RUTILE_LIB_OPTIMIZER_STEP_ADJOINT_H_
#define RUTILE_LIB_OPTIMIZER_STEP_ADJOINT_H_

#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "lib/optimizer/optimizer_steps.h"

namespace rutile {

// Adam and AdamW without amsgrad; SGD with or without momentum. `scale` of the steps is not used: gradients are whole.
using UnrolledUpdate = std::variant<AdamStep, SgdStep>;

// A state, or the derivatives of a quantity by one. All are of P numbers, or empty where the optimizer has none.
struct OptimizerState {
  std::vector<double> parameters;
  std::vector<double> m;  // Adam: mean of gradients; SGD: momentum, of P numbers also without momentum
  std::vector<double> v;  // Adam: mean of squared gradients; SGD: empty
};

// Returns a state of zeros for this optimizer.
OptimizerState ZeroState(const UnrolledUpdate& update, size_t num_parameters);

// Moves the state by one step with the formulas of optimizer_steps.h, in fp64. gradient: [P].
void TakeStep(const UnrolledUpdate& update, absl::Span<const double> gradient, OptimizerState* state);

// Goes back through TakeStep(update, gradient, before), which gave `after`. adjoint: derivatives by the state after the
// step, replaced by those by the state before it at constant gradient. Returns the derivatives by the gradient, [P].
// Where v is 0 after the step, so was every gradient, and the derivative of its root is taken as 0.
std::vector<double> StepBack(const UnrolledUpdate& update, const OptimizerState& before, const OptimizerState& after,
                             absl::Span<const double> gradient, OptimizerState* adjoint);

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_STEP_ADJOINT_H_
