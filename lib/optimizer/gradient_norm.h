// Sums of squares of a gradient whose weight is applied later, in the optimizer's pass.

#ifndef RUTILE_LIB_OPTIMIZER_GRADIENT_NORM_H_
#define RUTILE_LIB_OPTIMIZER_GRADIENT_NORM_H_

#include "lib/machine/parallel_for.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Returns the sum of (weight g)^2. Each product is rounded to the gradient's type (F32 or F64; CHECK-fails for others)
// as optimizers round it; squares and sums are fp64. Not finite if a product is not. The order of additions depends on
// the length alone, so any number of threads gives the same bits. pool may be null.
double SumOfSquares(double weight, const Tensor& gradient, ThreadPool* pool = nullptr);

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_GRADIENT_NORM_H_
