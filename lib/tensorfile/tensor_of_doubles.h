// Stores numbers computed in double precision as a tensor of the type of a file.

#ifndef RUTILE_LIB_TENSORFILE_TENSOR_OF_DOUBLES_H_
#define RUTILE_LIB_TENSORFILE_TENSOR_OF_DOUBLES_H_

#include <vector>

#include "lib/base/logging.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Returns a tensor of shape [values.size()], rounded if dtype is F32; CHECK-fails unless dtype is F32 or F64.
// Tensor::ToDoubles is the reverse.
inline Tensor TensorOfDoubles(DType dtype, const std::vector<double>& values) {
  CHECK(dtype == DType::kF32 || dtype == DType::kF64) << DTypeName(dtype);
  if (dtype == DType::kF64) return Tensor::Of(values);
  return Tensor::Of(std::vector<float>(values.begin(), values.end()));
}

}  // namespace rutile

#endif  // RUTILE_LIB_TENSORFILE_TENSOR_OF_DOUBLES_H_
