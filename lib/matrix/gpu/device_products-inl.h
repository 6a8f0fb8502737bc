// Products of matrices in the memory of a device.

#ifndef RUTILE_LIB_MATRIX_GPU_DEVICE_PRODUCTS_INL_H_
#define RUTILE_LIB_MATRIX_GPU_DEVICE_PRODUCTS_INL_H_

#include <cstdint>
#include <type_traits>

#include "lib/gpu/device_array-inl.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/matrix/gpu/device_factor.h"
#include "lib/matrix/gpu/product_bodies-inl.h"
#include "lib/matrix/gpu/product_panel-inl.h"
#include "lib/matrix/gpu/product_plan.h"
#include "lib/matrix/gpu/product_tile-inl.h"
#include "lib/matrix/gpu/tensor_factors-inl.h"
#include "lib/matrix/gpu/tensor_tile-inl.h"

namespace rutile {

// T is float or double. With float, SetRounding decides if tensor cores multiply; all else holds for any rounding, but
// an infinite number may become NaN where it meets FactorRounding::kTwoParts. One thread at a time may use an object.
template <typename T, typename Backend>
class DeviceProducts {
 public:
  // The backend must outlive this.
  explicit DeviceProducts(Backend* backend) : backend_(backend), parts_(backend) {}

  // Factors are not rounded by default.
  template <typename U = T>
  void SetRounding(FactorRounding rounding) {
    static_assert(std::is_same_v<T, U> && std::is_same_v<T, float>, "only fp32 is rounded for tensor cores");
    rounding_ = rounding;
  }

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
    ProductTask<T> task = {{a.data, a.stride, m, OrderOf(a, a.transposed)},
                           {b.data, b.stride, n, OrderOf(b, !b.transposed)},
                           k,
                           plan.k_of_split,
                           plan.splits,
                           c,
                           c_stride,
                           /*part_stride=*/0,
                           IsAligned(c, c_stride),
                           add};
    if (plan.splits == 1) return Launch(plan.large, task);
    const int64_t stride = (n + kGroup - 1) / kGroup * kGroup;
    parts_.Resize(plan.splits * m * stride);
    task.c = parts_.data();
    task.c_stride = stride;
    task.part_stride = m * stride;
    task.aligned = true;
    task.add = false;
    Launch(plan.large, task);
    backend_->ForEach(m * n, AddPartsBody<T>{parts_.data(), plan.splits, m * stride, stride, n, c, c_stride, add});
  }

  // Returns how Multiply divides a product.
  ProductPlan Plan(int64_t m, int64_t n, int64_t k) const {
    if constexpr (std::is_same_v<T, float>) {
      if (rounding_ == FactorRounding::kTwoParts) return TensorPlan<SplitFactors>(m, n, k);
      if (rounding_ == FactorRounding::kBf16) return TensorPlan<Bf16Factors>(m, n, k);
    }
    return PlanOf<LargeProductTile<T>, SmallProductTile<T>>(m, n, k, /*speed=*/1, /*alone=*/1.3);
  }

 private:
  static constexpr int64_t kGroup = Numbers16<T>::kSize;

  static bool IsAligned(const T* data, int64_t stride) {
    return reinterpret_cast<uintptr_t>(data) % sizeof(Numbers16<T>) == 0 && stride % kGroup == 0;
  }
  static PanelOrder OrderOf(const DeviceFactor<T>& factor, bool lines_adjacent) {
    const bool aligned = IsAligned(factor.data, factor.stride);
    if (!lines_adjacent) return aligned ? PanelOrder::kTermsIn16Bytes : PanelOrder::kTermsAdjacent;
    return aligned ? PanelOrder::kLinesIn16Bytes : PanelOrder::kLinesAdjacent;
  }

  template <typename Large, typename Small>
  ProductPlan PlanOf(int64_t m, int64_t n, int64_t k, double speed, double alone) const {
    constexpr int64_t kMostScratch = (int64_t{64} << 20) / static_cast<int64_t>(sizeof(T));
    static_assert(Large::kSlice == Small::kSlice);
    return MakeProductPlan(m, n, k, backend_->num_processors(), {Large::kRows, Large::kColumns, 1, alone},
                           {Small::kRows, Small::kColumns, 0.7, alone}, Large::kSlice, kMostScratch, speed);
  }
  template <typename Factors>
  ProductPlan TensorPlan(int64_t m, int64_t n, int64_t k) const {
    using Tiles = TensorTiles<Factors>;
    return PlanOf<typename Tiles::template Large<true, true>, typename Tiles::template Small<true, true>>(
        m, n, k, Tiles::kSpeed, Tiles::kAlone);
  }

  void Launch(bool large, const ProductTask<T>& task) {
    if constexpr (std::is_same_v<T, float>) {
      if (rounding_ == FactorRounding::kTwoParts) return LaunchTensor<SplitFactors>(large, task);
      if (rounding_ == FactorRounding::kBf16) return LaunchTensor<Bf16Factors>(large, task);
    }
    // These tiles take terms one by one.
    ProductTask<T> by_ones = task;
    for (PanelOrder* const order : {&by_ones.a.order, &by_ones.b.order}) {
      if (*order == PanelOrder::kTermsIn16Bytes) *order = PanelOrder::kTermsAdjacent;
    }
    LaunchTile<LargeProductTile<T>, SmallProductTile<T>>(large, by_ones);
  }
  // The kernels of tensor cores differ by how factors lie.
  template <typename Factors>
  void LaunchTensor(bool large, const ProductTask<T>& task) {
    const auto launch = [&](auto rows, auto columns) {
      using Tiles = TensorTiles<Factors>;
      LaunchTile<typename Tiles::template Large<rows.value, columns.value>,
                 typename Tiles::template Small<rows.value, columns.value>>(large, task);
    };
    const auto launch_columns = [&](auto rows) {
      if (AreTermsAdjacent(task.b.order)) return launch(rows, std::true_type());
      launch(rows, std::false_type());
    };
    if (AreTermsAdjacent(task.a.order)) return launch_columns(std::true_type());
    launch_columns(std::false_type());
  }
  template <typename Large, typename Small>
  void LaunchTile(bool large, const ProductTask<T>& task) {
    const auto launch = [&](auto body) {
      backend_->ForEachBlock(body.num_blocks(), sizeof(typename decltype(body)::Shared), body);
    };
    if (large) return launch(ProductTileBody<T, Large>{task});
    launch(ProductTileBody<T, Small>{task});
  }

  Backend* const backend_;
  FactorRounding rounding_ = FactorRounding::kNone;
  DeviceArray<T, Backend> parts_;  // of sums
};

}  // namespace rutile

#endif  // RUTILE_LIB_MATRIX_GPU_DEVICE_PRODUCTS_INL_H_
