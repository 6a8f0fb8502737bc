// A factor of a product of matrices in the memory of a device.

#ifndef RUTILE_LIB_MATRIX_GPU_DEVICE_FACTOR_H_
#define RUTILE_LIB_MATRIX_GPU_DEVICE_FACTOR_H_

#include <cstdint>

#include "lib/gpu/device_function.h"

namespace rutile {

// A factor whose element (i, j) is data[i * stride + j], or data[j * stride + i] if it is transposed.
template <typename T>
struct DeviceFactor {
  const T* data;
  int64_t stride;
  bool transposed;

  RUTILE_DEVICE T At(int64_t i, int64_t j) const { return transposed ? data[j * stride + i] : data[i * stride + j]; }
};

}  // namespace rutile

#endif  // RUTILE_LIB_MATRIX_GPU_DEVICE_FACTOR_H_
