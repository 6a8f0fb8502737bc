// Elements of tensors as fp64 numbers, to be added up over processes.

#ifndef RUTILE_LIB_DISTRIBUTED_TENSOR_VALUES_H_
#define RUTILE_LIB_DISTRIBUTED_TENSOR_VALUES_H_

#include <vector>

#include "absl/types/span.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Of F32 or F64 tensors, one after another.
void AppendValues(absl::Span<const Tensor> tensors, std::vector<double>* values);
// The reverse, rounded to the tensors' types. CHECK-fails unless there are as many.
void SetValues(absl::Span<const double> values, absl::Span<Tensor> tensors);

}  // namespace rutile

#endif  // RUTILE_LIB_DISTRIBUTED_TENSOR_VALUES_H_
