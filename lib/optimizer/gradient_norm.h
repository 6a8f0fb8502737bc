// Sums of squares of a gradient that is weighed later, in the optimizer's pass.

#ifndef RUTILE_LIB_OPTIMIZER_GRADIENT_NORM_H_
#define RUTILE_LIB_OPTIMIZER_GRADIENT_NORM_H_

#include "lib/base/parallel_for.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Sum of (weight g)^2, each product rounded to the gradient's type (F32 or F64, CHECK-fails for others) as optimizers
// round it, squares and sums in fp64. Not finite when a product is not. Of one length, always added in one order, by
// any number of threads; pool may be null.
double SumOfSquares(double weight, const Tensor& gradient, ThreadPool* pool = nullptr);

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_GRADIENT_NORM_H_
