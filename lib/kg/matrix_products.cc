#include "lib/kg/matrix_products.h"

#include <ATen/ATen.h>

#include <type_traits>

#include "lib/base/logging.h"

namespace rutile {
namespace {

// LibTorch's tensors are writable; factors are not written to.
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
MatrixProducts<T>::MatrixProducts(bool bf16) {
  CHECK(!bf16 || sizeof(T) == sizeof(float)) << "mixed precision is of fp32";
  if (bf16) bf16_.emplace();
}

template <typename T>
void MatrixProducts<T>::Multiply(const MatrixView<T>& a, const MatrixView<T>& b, bool add, T* out, int64_t stride) {
  CHECK_EQ(a.width(), b.height());
  if constexpr (std::is_same_v<T, float>) {
    if (rounding_ && bf16_) return bf16_->Multiply(a, b, add, out, stride);
  }
  at::Tensor result = View(out, a.height(), b.width(), stride);
  if (add) {
    at::addmm_out(result, result, View(a), View(b));
  } else {
    at::mm_out(result, View(a), View(b));
  }
}

template class MatrixProducts<float>;
template class MatrixProducts<double>;

}  // namespace rutile
