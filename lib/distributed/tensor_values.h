// Converts elements of tensors to fp64 values and back, for sums over processes.

#ifndef RUTILE_LIB_DISTRIBUTED_TENSOR_VALUES_H_
#define RUTILE_LIB_DISTRIBUTED_TENSOR_VALUES_H_

#include <vector>

#include "absl/types/span.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Appends the elements of F32 or F64 tensors, one tensor after another.
void AppendValues(absl::Span<const Tensor> tensors, std::vector<double>* values);
// Sets the elements from `values`, rounded to the tensors' types. CHECK-fails unless their numbers agree.
void SetValues(absl::Span<const double> values, absl::Span<Tensor> tensors);

}  // namespace rutile

#endif  // RUTILE_LIB_DISTRIBUTED_TENSOR_VALUES_H_
