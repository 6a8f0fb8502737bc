// Products of matrices in the memory of a device.

#ifndef RUTILE_LIB_MATRIX_GPU_DEVICE_PRODUCTS_INL_H_
#define RUTILE_LIB_MATRIX_GPU_DEVICE_PRODUCTS_INL_H_

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

// Computes an element of c. For each i of m n.
template <typename T>
struct ProductBody {
  static constexpr int kThreads = 256;
  DeviceFactor<T> a, b;
  int64_t n, k;
  T* c;
  int64_t c_stride;
  bool add;

  RUTILE_DEVICE void operator()(int64_t i) const {
    const int64_t row = i / n, column = i % n;
    T sum = 0;
    for (int64_t l = 0; l < k; ++l) sum += a.At(row, l) * b.At(l, column);
    T& to = c[row * c_stride + column];
    to = add ? to + sum : sum;
  }
};

// T is float or double. One thread at a time may use an object.
template <typename T, typename Backend>
class DeviceProducts {
 public:
  // The backend must outlive this.
  explicit DeviceProducts(Backend* backend) : backend_(backend) {}

  // Computes c [m, n] = a b, or c += a b if `add`; a is [m, k] and b [k, n] after what `transposed` says. Rows of c are
  // c_stride apart. With k = 0 the product is 0.
  void Multiply(const DeviceFactor<T>& a, const DeviceFactor<T>& b, int64_t m, int64_t n, int64_t k, T* c,
                int64_t c_stride, bool add) {
    backend_->ForEach(m * n, ProductBody<T>{a, b, n, k, c, c_stride, add});
  }

 private:
  Backend* const backend_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_MATRIX_GPU_DEVICE_PRODUCTS_INL_H_
