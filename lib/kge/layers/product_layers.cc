#include "lib/kge/layers/product_layers.h"

#include <algorithm>

#include "absl/types/span.h"
#include "lib/kge/layers/product_masks.h"
#include "lib/kge/layers/product_query.h"
#include "lib/kge/layers/workspace.h"
#include "lib/trace/scope.h"

namespace rutile {

template <typename T>
void ProductLayers<T>::Forward(const T* parameters, const KgeBatch& batch, T* v, const BatchRows<T>& rows) {
  const ProfileScope scope(Stage::kEmbedding);
  if (IsRescal()) return rescal_.Forward(parameters, batch, v, rows);
  if (shape_.is_tucker()) return tucker_.Forward(parameters, batch, v, rows);
  const int64_t d = shape_.dim(), of_relation = shape_.relation_dim(), both = d + of_relation;
  const bool drops = DropsRows(shape_.options, batch);
  T* masks = Take<T>(&masks_, drops ? batch.size() * both : 0);
  T* const masked = Take<T>(&masked_, 2 * both);
  for (int64_t e = 0; e < batch.size(); ++e, v += d) {
    const T* h = RowOf(rows.heads, e, parameters + at_.entity, batch.head[e], d);
    const T* r = RowOf(rows.relations, e, parameters + at_.relation, batch.relation[e], of_relation);
    if (drops) {
      FillProductMasks(shape_.options, batch, e, absl::MakeSpan(masks, both));
      for (int64_t j = 0; j < d; ++j) masked[j] = h[j] * masks[j];
      for (int64_t j = 0; j < of_relation; ++j) masked[d + j] = r[j] * masks[d + j];
      h = masked, r = masked + d, masks += both;
    }
    ProductQuery(shape_, h, r, v);
  }
}

template <typename T>
void ProductLayers<T>::Backward(const T* parameters, const KgeBatch& batch, const T* d_v, T* gradient,
                                const BatchRows<T>& rows, const BatchRowGradients<T>& d_rows) {
  const ProfileScope scope(Stage::kEmbedding);
  if (IsRescal()) return rescal_.Backward(parameters, batch, d_v, gradient, rows, d_rows);
  if (shape_.is_tucker()) return tucker_.Backward(parameters, batch, d_v, gradient, rows, d_rows);
  const int64_t d = shape_.dim(), of_relation = shape_.relation_dim(), both = d + of_relation;
  const bool drops = DropsRows(shape_.options, batch);
  const T* masks = masks_.values<T>().data();
  T *const masked = Take<T>(&masked_, 2 * both), *const slopes = masked + both;
  for (int64_t e = 0; e < batch.size(); ++e, d_v += d) {
    const T* const h = RowOf(rows.heads, e, parameters + at_.entity, batch.head[e], d);
    const T* const r = RowOf(rows.relations, e, parameters + at_.relation, batch.relation[e], of_relation);
    T* const d_h = RowOf(d_rows.heads, e, gradient + at_.entity, batch.head[e], d);
    T* const d_r = RowOf(d_rows.relations, e, gradient + at_.relation, batch.relation[e], of_relation);
    if (!drops) {
      AddProductGradients(shape_, h, r, d_v, d_h, d_r);
      continue;
    }
    for (int64_t j = 0; j < d; ++j) masked[j] = h[j] * masks[j];
    for (int64_t j = 0; j < of_relation; ++j) masked[d + j] = r[j] * masks[d + j];
    std::fill_n(slopes, both, T(0));
    AddProductGradients(shape_, masked, masked + d, d_v, slopes, slopes + d);
    for (int64_t j = 0; j < d; ++j) d_h[j] += masks[j] * slopes[j];
    for (int64_t j = 0; j < of_relation; ++j) d_r[j] += masks[d + j] * slopes[d + j];
    masks += both;
  }
}

template class ProductLayers<float>;
template class ProductLayers<double>;

}  // namespace rutile
