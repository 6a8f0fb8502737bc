// From the gradients of the loss terms to the one gradient that the optimizer takes.

#ifndef RUTILE_LIB_TRAIN_STEP_GRADIENT_STEP_H_
#define RUTILE_LIB_TRAIN_STEP_GRADIENT_STEP_H_

#include "absl/types/span.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// combined = sum over t of weight[t] * gradients[t], and returns its Euclidean norm (summed in fp64, in an order that
// depends on the length alone; not finite when a component is not). gradients[t], combined: [P], of one type, F32 or
// F64; combined may be the only one of gradients. A term of weight 0 does not take part, whatever its gradient holds.
// CHECK-fails when sizes or types disagree.
double CombineGradients(absl::Span<const double> weight, absl::Span<const Tensor> gradients, Tensor* combined);

// Scales the gradient, whose norm is `norm`, to `max_norm` when it is longer. max_norm <= 0 leaves it as it is.
void ClipGradient(double norm, double max_norm, Tensor* gradient);

// Each component to at most max_value in size. max_value <= 0 leaves the gradient as it is.
void ClipGradientByValue(double max_value, Tensor* gradient);

// Every component 0.
void SetToZero(absl::Span<Tensor> tensors);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_STEP_GRADIENT_STEP_H_
