// Numbers computed in double precision as a tensor of the type that they are kept in.

#ifndef RUTILE_LIB_TENSORFILE_TENSOR_OF_DOUBLES_H_
#define RUTILE_LIB_TENSORFILE_TENSOR_OF_DOUBLES_H_

#include <vector>

#include "lib/base/logging.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// [values.size()], rounded where dtype is F32; CHECK-fails on another type than F32 and F64. ToDoubles is the reverse.
inline Tensor TensorOfDoubles(DType dtype, const std::vector<double>& values) {
  CHECK(dtype == DType::kF32 || dtype == DType::kF64) << DTypeName(dtype);
  if (dtype == DType::kF64) return Tensor::Of(values);
  return Tensor::Of(std::vector<float>(values.begin(), values.end()));
}

}  // namespace rutile

#endif  // RUTILE_LIB_TENSORFILE_TENSOR_OF_DOUBLES_H_
