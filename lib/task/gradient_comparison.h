// Whether two gradients agree, and where they do not: for the check of the first batch, and for tests.

#ifndef RUTILE_LIB_TASK_GRADIENT_COMPARISON_H_
#define RUTILE_LIB_TASK_GRADIENT_COMPARISON_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/task/task.h"

namespace rutile {

// The largest difference of two gradients of one term.
struct GradientDifference {
  double relative = 0;   // |actual - expected| / max |expected|; infinity when a value is not finite
  std::string location;  // "network.Ti.0.weight[3, 1]"
  double actual = 0;
  double expected = 0;
};

// Flat tensors [P] of any number types. Relative to the largest component of `expected` (or 1e-30, where it is 0),
// since small components are differences of large ones.
GradientDifference CompareGradients(absl::Span<const ParameterSlice> slices, const Tensor& actual,
                                    const Tensor& expected);

// "network.Ti.0.weight[3, 1]" of a position in the flat tensor; "parameter 17" where no slice holds it.
std::string ParameterLocation(absl::Span<const ParameterSlice> slices, int64_t position);

// What adds to gradients and sums as Task::AccumulateGradients does, of parameters and batch that it knows.
using AddGradients = std::function<absl::Status(absl::Span<Tensor> gradients, TermSums* sums)>;

// Runs both `fast` and ReferenceGradients on the batch. FAILED_PRECONDITION naming term, sum or
// parameter and both values when a sum, a count or a gradient differs by more than `tolerance`, relative as above.
// OUT_OF_RANGE naming them where the reference is not finite: that comes of data or parameters, not of `fast`.
absl::Status CheckAgainstReference(const Task& task, const AddGradients& fast, const Tensor& parameters,
                                   const NamedTensors& batch, double tolerance);
// The same of task.AccumulateGradients.
absl::Status CheckAgainstReference(Task& task, const Tensor& parameters, const NamedTensors& batch, double tolerance);

// Rounding allowed for: 5e-5 with F32 parameters, 1e-10 with F64.
double ReferenceTolerance(DType parameter_dtype);

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_GRADIENT_COMPARISON_H_
