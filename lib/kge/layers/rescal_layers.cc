#include "lib/kge/layers/rescal_layers.h"

#include <algorithm>
#include <numeric>

#include "absl/types/span.h"
#include "lib/kge/layers/product_masks.h"
#include "lib/kge/layers/product_query.h"
#include "lib/kge/layers/workspace.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/matrix/matrix_view.h"

namespace rutile {
namespace {

// True if each query has a matrix of its own: one that is masked, or one that another process sent.
template <typename T>
bool HasOwnMatrices(const KgeOptions& options, const KgeBatch& batch, const BatchRows<T>& rows) {
  return rows.relations != nullptr || DropsRelations(options, batch);
}

}  // namespace

template <typename T>
RescalLayers<T>::RescalLayers(const KgeShape& shape, ThreadPool* pool)
    : shape_(shape), at_(shape.offsets()), products_(FactorRounding::kNone, pool) {}

template <typename T>
template <typename Body>
void RescalLayers<T>::ForGroups(const KgeBatch& batch, const Body& body) const {
  for (size_t first = 0, end = 0; first < order_.size(); first = end) {
    const int32_t relation = batch.relation[order_[first]];
    while (end < order_.size() && batch.relation[order_[end]] == relation) ++end;
    body(static_cast<int64_t>(first), static_cast<int64_t>(end - first), relation);
  }
}

template <typename T>
void RescalLayers<T>::Gather(const T* parameters, const KgeBatch& batch, const BatchRows<T>& rows) {
  const int64_t d = shape_.dim();
  order_.resize(batch.size());
  std::iota(order_.begin(), order_.end(), int64_t{0});
  std::stable_sort(order_.begin(), order_.end(),
                   [&](int64_t a, int64_t b) { return batch.relation[a] < batch.relation[b]; });
  const bool drops = DropsRows(shape_.options, batch);
  T* h = Take<T>(&heads_, batch.size() * d);
  T* masks = Take<T>(&head_masks_, drops ? batch.size() * d : 0);
  for (const int64_t e : order_) {
    const T* const row = RowOf(rows.heads, e, parameters + at_.entity, batch.head[e], d);
    std::copy_n(row, d, h);
    if (drops) {
      FillProductMasks(shape_.options, batch, e, absl::MakeSpan(masks, d));
      for (int64_t j = 0; j < d; ++j) h[j] *= masks[j];
      masks += d;
    }
    h += d;
  }
}

template <typename T>
void RescalLayers<T>::Forward(const T* parameters, const KgeBatch& batch, T* v, const BatchRows<T>& rows) {
  const int64_t d = shape_.dim();
  if (!HasOwnMatrices(shape_.options, batch, rows)) {
    Gather(parameters, batch, rows);
    T* const sorted = Take<T>(&v_, batch.size() * d);
    const T* const heads = heads_.values<T>().data();
    ForGroups(batch, [&](int64_t first, int64_t n, int64_t relation) {
      products_.Multiply({heads + first * d, n, d, d}, {parameters + at_.relation + relation * d * d, d, d, d},
                         /*add=*/false, sorted + first * d, d);
    });
    for (size_t k = 0; k < order_.size(); ++k) std::copy_n(sorted + k * d, d, v + order_[k] * d);
    return;
  }
  const int64_t both = d + d * d;
  T *const masks = Take<T>(&masks_, both), *const masked = Take<T>(&masked_, 2 * both);
  for (int64_t e = 0; e < batch.size(); ++e, v += d) {
    const T* const h = RowOf(rows.heads, e, parameters + at_.entity, batch.head[e], d);
    const T* const r = RowOf(rows.relations, e, parameters + at_.relation, batch.relation[e], d * d);
    FillProductMasks(shape_.options, batch, e, absl::MakeSpan(masks, both));
    for (int64_t j = 0; j < d; ++j) masked[j] = h[j] * masks[j];
    for (int64_t j = 0; j < d * d; ++j) masked[d + j] = r[j] * masks[d + j];
    ProductQuery(shape_, masked, masked + d, v);
  }
}

template <typename T>
void RescalLayers<T>::Backward(const T* parameters, const KgeBatch& batch, const T* d_v, T* gradient,
                               const BatchRows<T>& rows, const BatchRowGradients<T>& d_rows) {
  const int64_t d = shape_.dim();
  if (!HasOwnMatrices(shape_.options, batch, rows)) {
    T *const sorted = Take<T>(&v_, batch.size() * d), *const slopes = Take<T>(&slopes_, batch.size() * d);
    for (size_t k = 0; k < order_.size(); ++k) std::copy_n(d_v + order_[k] * d, d, sorted + k * d);
    const T* const heads = heads_.values<T>().data();
    ForGroups(batch, [&](int64_t first, int64_t n, int64_t relation) {
      const MatrixView<T> of_v = {sorted + first * d, n, d, d}, of_heads = {heads + first * d, n, d, d};
      const MatrixView<T> matrix = {parameters + at_.relation + relation * d * d, d, d, d};
      products_.Multiply(of_v, matrix.Transposed(), /*add=*/false, slopes + first * d, d);
      products_.Multiply(of_heads.Transposed(), of_v, /*add=*/true, gradient + at_.relation + relation * d * d, d);
    });
    const T* const masks = DropsRows(shape_.options, batch) ? head_masks_.values<T>().data() : nullptr;
    for (size_t k = 0; k < order_.size(); ++k) {
      T* const d_h = RowOf(d_rows.heads, order_[k], gradient + at_.entity, batch.head[order_[k]], d);
      const T* const slope = slopes + k * d;
      for (int64_t j = 0; j < d; ++j) d_h[j] += masks == nullptr ? slope[j] : masks[k * d + j] * slope[j];
    }
    return;
  }
  const int64_t both = d + d * d;
  T *const masks = Take<T>(&masks_, both), *const masked = Take<T>(&masked_, 2 * both), *const slopes = masked + both;
  for (int64_t e = 0; e < batch.size(); ++e, d_v += d) {
    const T* const h = RowOf(rows.heads, e, parameters + at_.entity, batch.head[e], d);
    const T* const r = RowOf(rows.relations, e, parameters + at_.relation, batch.relation[e], d * d);
    T* const d_h = RowOf(d_rows.heads, e, gradient + at_.entity, batch.head[e], d);
    T* const d_r = RowOf(d_rows.relations, e, gradient + at_.relation, batch.relation[e], d * d);
    FillProductMasks(shape_.options, batch, e, absl::MakeSpan(masks, both));
    for (int64_t j = 0; j < d; ++j) masked[j] = h[j] * masks[j];
    for (int64_t j = 0; j < d * d; ++j) masked[d + j] = r[j] * masks[d + j];
    std::fill_n(slopes, both, T(0));
    AddProductGradients(shape_, masked, masked + d, d_v, slopes, slopes + d);
    for (int64_t j = 0; j < d; ++j) d_h[j] += masks[j] * slopes[j];
    for (int64_t j = 0; j < d * d; ++j) d_r[j] += masks[d + j] * slopes[d + j];
  }
}

template class RescalLayers<float>;
template class RescalLayers<double>;

}  // namespace rutile
