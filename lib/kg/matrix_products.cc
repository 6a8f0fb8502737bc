#include "lib/kg/matrix_products.h"

#include <ATen/ATen.h>

#include "lib/base/logging.h"

namespace rutile {
namespace {

// LibTorch's tensors are writable; inputs are not written to.
template <typename T>
at::Tensor View(const T* data, int64_t rows, int64_t columns, int64_t stride) {
  return at::from_blob(const_cast<T*>(data), {rows, columns}, {stride, 1},
                       at::TensorOptions(c10::CppTypeToScalarType<T>::value));
}

template <typename T>
at::Tensor View(const MatrixView<T>& m) {
  const at::Tensor view = View(m.data, m.rows, m.columns, m.stride);
  return m.transposed ? view.t() : view;
}

}  // namespace

template <typename T>
void Multiply(const MatrixView<T>& a, const MatrixView<T>& b, bool add, T* out, int64_t stride) {
  const at::Tensor left = View(a), right = View(b);
  CHECK_EQ(left.size(1), right.size(0));
  at::Tensor result = View(out, left.size(0), right.size(1), stride);
  if (add) {
    at::addmm_out(result, result, left, right);
  } else {
    at::mm_out(result, left, right);
  }
}

template void Multiply(const MatrixView<float>&, const MatrixView<float>&, bool, float*, int64_t);
template void Multiply(const MatrixView<double>&, const MatrixView<double>&, bool, double*, int64_t);

}  // namespace rutile
