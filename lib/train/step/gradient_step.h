// Combines the gradients of the loss terms into one, and clips it.

#ifndef RUTILE_LIB_TRAIN_STEP_GRADIENT_STEP_H_
#define RUTILE_LIB_TRAIN_STEP_GRADIENT_STEP_H_

#include "absl/types/span.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Sets combined = sum over t of weight[t] * gradients[t] and returns its Euclidean norm, summed in fp64 in an order
// that depends on the length alone; the norm is not finite if a component is not. gradients[t], combined: [P], of one
// type, F32 or F64; combined may be the only one of gradients. A term of weight 0 is skipped, whatever its gradient
// holds. CHECK-fails if sizes or types disagree.
double CombineGradients(absl::Span<const double> weight, absl::Span<const Tensor> gradients, Tensor* combined);

// Scales the gradient, of Euclidean norm `norm`, down to `max_norm` if it is longer. max_norm <= 0: no clipping.
void ClipGradient(double norm, double max_norm, Tensor* gradient);

// Clamps each component to [-max_value, max_value]. max_value <= 0: no clipping.
void ClipGradientByValue(double max_value, Tensor* gradient);

// Sets every element to 0.
void SetToZero(absl::Span<Tensor> tensors);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_STEP_GRADIENT_STEP_H_
