// Derivatives of a run's last state by its gradients, one step at a time from the end: what influence by unrolling a
// run needs of an optimizer.
//
// A step takes the state (parameters, m, v) and the gradient g to the next state. With the derivatives of a quantity by
// the state after the step, StepBack returns those by g, and replaces the others by the derivatives by the state before
// it at constant g. The gradient depends on the parameters, too: the caller adds the product of its derivative (the
// Hessian of the batch's loss) and the vector returned.
//
//   const std::vector<double> clipped = Clipped(clipping, gradient);
//   OptimizerState after = before;
//   TakeStep(step, clipped, &after);
//   MoveAverage(share, &after);
//
//   AverageBack(share, &adjoint);
//   std::vector<double> by_gradient = StepBack(step, before, after, clipped, &adjoint);
//   ClipBack(clipping, gradient, &by_gradient);

#ifndef RUTILE_LIB_OPTIMIZER_STEP_ADJOINT_H_
#define RUTILE_LIB_OPTIMIZER_STEP_ADJOINT_H_

#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "lib/optimizer/optimizer_steps.h"

namespace rutile {

// A step of Adam or AdamW, which with amsgrad divides by the root of the largest v so far.
struct UnrolledAdam : AdamStep {
  bool amsgrad = false;
};

// Adam and AdamW; SGD with or without momentum. `scale` of the steps is not used: gradients are whole.
using UnrolledUpdate = std::variant<UnrolledAdam, SgdStep>;

// A state, or the derivatives of a quantity by one. All are of P numbers, or empty where the optimizer has none.
struct OptimizerState {
  std::vector<double> parameters;
  std::vector<double> m;        // Adam: mean of gradients; SGD: momentum, of P numbers also without momentum
  std::vector<double> v;        // Adam: mean of squared gradients; SGD: empty
  std::vector<double> h;        // amsgrad: the largest v so far; else empty
  std::vector<double> average;  // moving average of the parameters; empty: the run has none
};

// What a run does to the gradient of a step before its optimizer sees it. 0: nothing.
struct GradientClipping {
  double norm = 0;   // a longer gradient is scaled down to this 2-norm
  double value = 0;  // each component is cut at this absolute value
};

// Returns a state of zeros for this optimizer, without an average.
OptimizerState ZeroState(const UnrolledUpdate& update, size_t num_parameters);

// Moves the state by one step with the formulas of optimizer_steps.h, in fp64. gradient: [P].
void TakeStep(const UnrolledUpdate& update, absl::Span<const double> gradient, OptimizerState* state);

// Goes back through TakeStep(update, gradient, before), which gave `after`. adjoint: derivatives by the state after the
// step, replaced by those by the state before it at constant gradient. Returns the derivatives by the gradient, [P].
// Where v is 0 after the step, so was every gradient, and the derivative of its root is taken as 0. Where amsgrad's h
// equals v, the derivative of their maximum is that of h.
std::vector<double> StepBack(const UnrolledUpdate& update, const OptimizerState& before, const OptimizerState& after,
                             absl::Span<const double> gradient, OptimizerState* adjoint);

// Returns the gradient [P] as the optimizer sees it: lib/train's ClipGradient or ClipGradientByValue.
std::vector<double> Clipped(const GradientClipping& clipping, absl::Span<const double> gradient);
// Replaces derivatives by the clipped gradient by those by the gradient, [P]. A component that is cut has none, and a
// gradient that is scaled down has none along itself. At the limit itself they are those of inside (norm) and outside
// (value).
void ClipBack(const GradientClipping& clipping, absl::Span<const double> gradient, std::vector<double>* by_gradient);

// Moves the average of a state towards its parameters, as Ema does after a step: average += share (p - average). 1: the
// average begins as a copy. 0: it does not move.
void MoveAverage(double share, OptimizerState* state);
// Goes back through MoveAverage: adds to the derivatives by the parameters, and leaves to those by the average what the
// average before the step passes on.
void AverageBack(double share, OptimizerState* adjoint);

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_STEP_ADJOINT_H_
