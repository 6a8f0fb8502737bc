// Products of matrices in the memory of a device.

#ifndef RUTILE_LIB_MATRIX_GPU_DEVICE_PRODUCTS_INL_H_
#define RUTILE_LIB_MATRIX_GPU_DEVICE_PRODUCTS_INL_H_

#include <cstdint>

#include "lib/gpu/device_array-inl.h"
#include "lib/matrix/gpu/device_factor.h"
#include "lib/matrix/gpu/product_bodies-inl.h"
#include "lib/matrix/gpu/product_plan.h"

namespace rutile {

// T is float or double. One thread at a time may use an object.
template <typename T, typename Backend>
class DeviceProducts {
 public:
  // The backend must outlive this.
  explicit DeviceProducts(Backend* backend) : backend_(backend), parts_(backend) {}

  // Computes c [m, n] = a b, or c += a b if `add`; a is [m, k] and b [k, n] after what `transposed` says. Rows of c are
  // c_stride apart. With k = 0 the product is 0. Strides and alignment are any; factors whose rows begin at multiples
  // of 16 bytes are fastest.
  void Multiply(const DeviceFactor<T>& a, const DeviceFactor<T>& b, int64_t m, int64_t n, int64_t k, T* c,
                int64_t c_stride, bool add) {
    if (m > 0 && n > 0) MultiplyBy(Plan(m, n, k), a, b, m, n, k, c, c_stride, add);
  }

  // Multiplies by a plan that is not necessarily Plan's, for tests and measurements.
  void MultiplyBy(const ProductPlan& plan, const DeviceFactor<T>& a, const DeviceFactor<T>& b, int64_t m, int64_t n,
                  int64_t k, T* c, int64_t c_stride, bool add) {
    const ProductPanel<T> rows = {a.data, a.stride, m, OrderOf(a, a.transposed)};
    const ProductPanel<T> columns = {b.data, b.stride, n, OrderOf(b, !b.transposed)};
    if (plan.splits == 1) return Launch(plan, rows, columns, k, c, c_stride, /*part_stride=*/0, add);
    const int64_t stride = (n + kGroup - 1) / kGroup * kGroup;
    parts_.Resize(plan.splits * m * stride);
    Launch(plan, rows, columns, k, parts_.data(), stride, m * stride, /*add=*/false);
    backend_->ForEach(m * n, AddPartsBody<T>{parts_.data(), plan.splits, m * stride, stride, n, c, c_stride, add});
  }

  // Returns how Multiply divides a product.
  ProductPlan Plan(int64_t m, int64_t n, int64_t k) const {
    constexpr int64_t kMostScratch = (int64_t{64} << 20) / static_cast<int64_t>(sizeof(T));
    static_assert(Large::kSlice == Small::kSlice);
    return MakeProductPlan(m, n, k, backend_->num_processors(), {Large::kRows, Large::kColumns, 1},
                           {Small::kRows, Small::kColumns, 0.7}, Large::kSlice, kMostScratch);
  }

 private:
  using Large = LargeProductTile<T>;
  using Small = SmallProductTile<T>;
  static constexpr int64_t kGroup = Numbers16<T>::kSize;

  static bool IsAligned(const T* data, int64_t stride) {
    return reinterpret_cast<uintptr_t>(data) % sizeof(Numbers16<T>) == 0 && stride % kGroup == 0;
  }
  static PanelOrder OrderOf(const DeviceFactor<T>& factor, bool lines_adjacent) {
    if (!lines_adjacent) return PanelOrder::kTermsAdjacent;
    return IsAligned(factor.data, factor.stride) ? PanelOrder::kLinesIn16Bytes : PanelOrder::kLinesAdjacent;
  }

  void Launch(const ProductPlan& plan, const ProductPanel<T>& a, const ProductPanel<T>& b, int64_t k, T* c,
              int64_t c_stride, int64_t part_stride, bool add) {
    const auto launch = [&](auto body) {
      backend_->ForEachBlock(body.num_blocks(), sizeof(typename decltype(body)::Shared), body);
    };
    const bool aligned = IsAligned(c, c_stride);
    if (plan.large) {
      launch(ProductTileBody<T, Large>{a, b, k, plan.k_of_split, plan.splits, c, c_stride, part_stride, aligned, add});
    } else {
      launch(ProductTileBody<T, Small>{a, b, k, plan.k_of_split, plan.splits, c, c_stride, part_stride, aligned, add});
    }
  }

  Backend* const backend_;
  DeviceArray<T, Backend> parts_;  // of sums
};

}  // namespace rutile

#endif  // RUTILE_LIB_MATRIX_GPU_DEVICE_PRODUCTS_INL_H_
