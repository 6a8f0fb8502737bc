// Compares two gradients and says where they differ: for the check of the first batch, and for tests.

#ifndef RUTILE_LIB_TASK_TORCH_GRADIENT_COMPARISON_H_
#define RUTILE_LIB_TASK_TORCH_GRADIENT_COMPARISON_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/task/task.h"

namespace rutile {

// The largest difference between two gradients of one term.
struct GradientDifference {
  double relative = 0;   // |actual - expected| / max |expected|; infinity when a value is not finite
  std::string location;  // "network.Ti.0.weight[3, 1]"
  double actual = 0;
  double expected = 0;
};

// Compares flat tensors [P] of any floating-point types. The difference is relative to the largest component of
// `expected` (or 1e-30, if that is 0), since small components are differences of large ones.
GradientDifference CompareGradients(absl::Span<const ParameterSlice> slices, const Tensor& actual,
                                    const Tensor& expected);

// Names a position in the flat tensor, "network.Ti.0.weight[3, 1]"; "parameter 17" if no slice contains it.
std::string ParameterLocation(absl::Span<const ParameterSlice> slices, int64_t position);

// A function that adds to gradients and sums as Task::AccumulateGradients does, with parameters and a batch that it
// has.
using AddGradients = std::function<absl::Status(absl::Span<Tensor> gradients, TermSums* sums)>;

// Runs both `fast` and ReferenceGradients on the batch. FAILED_PRECONDITION naming term, sum or parameter and both
// values if a sum, a count or a gradient differs by more than `tolerance`, relative as in CompareGradients. Terms that
// are sums of squares of rounding by both (LossTerm::natural_size) agree. OUT_OF_RANGE naming them if the reference is
// not finite, which is the fault of data or parameters, not of `fast`.
absl::Status CheckAgainstReference(const Task& task, const AddGradients& fast, const Tensor& parameters,
                                   const NamedTensors& batch, double tolerance);
// Compares task.AccumulateGradients with ReferenceGradients; errors are those of the function above with `fast`.
absl::Status CheckAgainstReference(Task& task, const Tensor& parameters, const NamedTensors& batch, double tolerance);

// Returns the tolerance for rounding: 5e-5 with F32 parameters, 1e-10 with F64.
double ReferenceTolerance(DType parameter_dtype);

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_TORCH_GRADIENT_COMPARISON_H_
