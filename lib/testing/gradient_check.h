// The gradient check that every task must pass: it compares the fast gradient with the reference, and that with finite
// differences.

#ifndef RUTILE_LIB_TESTING_GRADIENT_CHECK_H_
#define RUTILE_LIB_TESTING_GRADIENT_CHECK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "lib/task/task.h"

namespace rutile {

// Tolerances, and how finite differences are taken.
struct GradientCheckOptions {
  // The tolerance between AccumulateGradients and ReferenceGradients, relative to the largest component. 0:
  // ReferenceTolerance of the parameters' type.
  double tolerance = 0;
  // The gradient along this many random directions of unit length is compared with central differences of the term
  // sums, relative to the gradient's length. 0 skips it.
  int num_directions = 3;
  double step = 1e-5;
  double difference_tolerance = 1e-6;
  uint64_t seed = 0;
};

// Checks the gradients of a batch. FAILED_PRECONDITION naming the term, the parameter or direction, and both values.
// Finite differences are those of ExampleLosses in fp64, whatever the parameters' type, so that with fp32 parameters
// the task must compute losses in the type of its arguments.
absl::Status CheckGradients(Task& task, const Tensor& parameters, const NamedTensors& batch,
                            const GradientCheckOptions& options = {});

}  // namespace rutile

#endif  // RUTILE_LIB_TESTING_GRADIENT_CHECK_H_
