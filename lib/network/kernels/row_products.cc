#include "lib/network/kernels/row_products.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/network/kernels/row_products.cc"
#include "hwy/foreach_target.h"
// The order matters: foreach_target.h includes this file again for each target.
#include <algorithm>

#include "lib/base/logging.h"
#include "lib/base/round_up.h"
#include "lib/machine/simd.h"
#include "lib/network/kernels/products-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Multiplies R rows of A with V vectors of a panel; each sum stays in one lane.
template <typename T>
struct PanelTile {
  const T* a;
  int64_t stride;
  int columns;
  const T* panel;
  int width;  // rows of B in V vectors
  int64_t sums_stride;
  double* sums;

  template <int R, int V>
  HWY_INLINE void Run(int r) const {
    const hn::ScalableTag<T> d;
    const int lanes = hn::Lanes(d);
    VecOf<T> acc[R][V];
    SetZero<R, V, T>(acc);
    AddProduct<R, V, T>(a + r * stride, stride, 1, columns, panel, PackedRows<T>::kWidth, acc);
    HWY_ALIGN T values[V * MaxLanes<T>()];
    for (int i = 0; i < R; ++i) {
      for (int v = 0; v < V; ++v) hn::Store(acc[i][v], d, values + v * lanes);
      double* const out = sums + (r + i) * sums_stride;
      for (int j = 0; j < width; ++j) out[j] += values[j];
    }
  }
};

template <typename T>
void AddProducts(int64_t rows, const T* a, int64_t stride, int64_t columns, const PackedRows<T>& b,
                 int64_t first_column, double* sums) {
  constexpr int64_t kWidth = PackedRows<T>::kWidth;
  const int64_t step = std::min<int64_t>(kVecs * hn::Lanes(hn::ScalableTag<T>()), kWidth);
  for (int64_t k = 0; k < columns; k += kProductBlock) {
    const int count = static_cast<int>(std::min(kProductBlock, columns - k));
    for (int64_t j = 0; j < b.rows(); j += step) {
      const T* const panel = b.panel(j / kWidth, first_column + k) + j % kWidth;
      const int width = static_cast<int>(std::min(step, b.rows() - j));
      ForRows<kVecs>(static_cast<int>(rows), PanelTile<T>{a + k, stride, count, panel, width, b.rows(), sums + j});
    }
  }
}

void ProductsF32(int64_t rows, const float* a, int64_t stride, int64_t columns, const PackedRows<float>& b,
                 int64_t first_column, double* sums) {
  AddProducts(rows, a, stride, columns, b, first_column, sums);
}
void ProductsF64(int64_t rows, const double* a, int64_t stride, int64_t columns, const PackedRows<double>& b,
                 int64_t first_column, double* sums) {
  AddProducts(rows, a, stride, columns, b, first_column, sums);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rutile {

HWY_EXPORT(ProductsF32);
HWY_EXPORT(ProductsF64);

template <typename T>
PackedRows<T>::PackedRows(int64_t rows, int64_t columns)
    : rows_(rows), columns_(columns), data_(AlignedBuffer<T>::Zeros(RoundUp(rows, kWidth) * columns)) {}

template <typename T>
void PackedRows<T>::Set(int64_t row, int64_t column, absl::Span<const T> values) {
  CHECK(row >= 0 && row < rows_ && column >= 0 && column + static_cast<int64_t>(values.size()) <= columns_);
  T* out = data_.data() + (row / kWidth * columns_ + column) * kWidth + row % kWidth;
  for (const T value : values) {
    *out = value;
    out += kWidth;
  }
}

template class PackedRows<float>;
template class PackedRows<double>;

void AddRowProducts(int64_t rows, const float* a, int64_t stride, int64_t columns, const PackedRows<float>& b,
                    int64_t first_column, double* sums) {
  CHECK_LE(first_column + columns, b.columns());
  HWY_DYNAMIC_DISPATCH(ProductsF32)(rows, a, stride, columns, b, first_column, sums);
}
void AddRowProducts(int64_t rows, const double* a, int64_t stride, int64_t columns, const PackedRows<double>& b,
                    int64_t first_column, double* sums) {
  CHECK_LE(first_column + columns, b.columns());
  HWY_DYNAMIC_DISPATCH(ProductsF64)(rows, a, stride, columns, b, first_column, sums);
}

}  // namespace rutile
#endif  // HWY_ONCE
