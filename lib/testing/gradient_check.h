// The gradient check that every task passes: fast against reference against finite differences.

#ifndef RUTILE_LIB_TESTING_GRADIENT_CHECK_H_
#define RUTILE_LIB_TESTING_GRADIENT_CHECK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "lib/task/task.h"

namespace rutile {

struct GradientCheckOptions {
  // AccumulateGradients against ReferenceGradients, relative to the largest component. 0: ReferenceTolerance of the
  // parameters' type.
  double tolerance = 0;
  // The gradient along random directions of unit length against central differences of the term sums, relative to the
  // gradient's length. 0 directions skip it.
  int num_directions = 3;
  double step = 1e-5;
  double difference_tolerance = 1e-6;
  uint64_t seed = 0;
};

// FAILED_PRECONDITION naming the term, the parameter or direction, and both values. Finite differences are taken of
// ExampleLosses in fp64, whatever the parameters' type, so fp32 parameters need a task that computes losses in the type
// it is given.
absl::Status CheckGradients(Task& task, const Tensor& parameters, const NamedTensors& batch,
                            const GradientCheckOptions& options = {});

}  // namespace rutile

#endif  // RUTILE_LIB_TESTING_GRADIENT_CHECK_H_
