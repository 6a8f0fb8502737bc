#include "lib/kge/layers/product_layers.h"

#include <algorithm>

#include "absl/types/span.h"
#include "lib/kge/layers/dropout.h"
#include "lib/kge/layers/workspace.h"
#include "lib/trace/scope.h"

namespace rutile {

// ComplEx multiplies complex numbers, and DistMult only their real parts. `half` is the distance from the real to the
// imaginary part, 0 if there is only one part. m and n are the masks of head and relation.
template <typename T>
void ProductLayers<T>::Forward(const T* parameters, const KgeBatch& batch, T* v, const BatchRows<T>& rows) {
  const ProfileScope scope(Stage::kEmbedding);
  const int64_t d = shape_.dim(), half = shape_.options.model == KgeModel::kComplEx ? d / 2 : 0;
  T* masks = Take<T>(&masks_, batch.size() * 2 * d);
  for (int64_t e = 0; e < batch.size(); ++e, masks += 2 * d, v += d) {
    FillMasks(batch, e, absl::MakeSpan(masks, 2 * d));
    const T* const h = RowOf(rows.heads, e, parameters + at_.entity, batch.head[e], d);
    const T* const r = RowOf(rows.relations, e, parameters + at_.relation, batch.relation[e], d);
    const T *const m = masks, *const n = masks + d;
    if (half == 0) {
      for (int64_t j = 0; j < d; ++j) v[j] = h[j] * m[j] * (r[j] * n[j]);
      continue;
    }
    for (int64_t j = 0, k = half; j < half; ++j, ++k) {
      const T h_re = h[j] * m[j], h_im = h[k] * m[k], r_re = r[j] * n[j], r_im = r[k] * n[k];
      v[j] = h_re * r_re - h_im * r_im;
      v[k] = h_re * r_im + h_im * r_re;
    }
  }
}

template <typename T>
void ProductLayers<T>::FillMasks(const KgeBatch& batch, int64_t e, absl::Span<T> masks) const {
  const KgeOptions& options = shape_.options;
  const auto fill = [&](DropoutLayer layer, double rate, absl::Span<T> part) {
    if (rate > 0) FillDropout(options.seed, batch.epoch, batch.example[e], layer, rate, part);
  };
  std::fill(masks.begin(), masks.end(), T(1));
  if (!batch.training) return;
  if (options.input_dropout > 0) return fill(DropoutLayer::kInput, options.input_dropout, masks);
  fill(DropoutLayer::kHead, options.entity_dropout, masks.first(shape_.dim()));
  fill(DropoutLayer::kRelation, options.relation_dropout, masks.subspan(shape_.dim()));
}

template <typename T>
void ProductLayers<T>::Backward(const T* parameters, const KgeBatch& batch, const T* d_v, T* gradient,
                                const BatchRows<T>& rows, const BatchRowGradients<T>& d_rows) {
  const ProfileScope scope(Stage::kEmbedding);
  const int64_t d = shape_.dim(), half = shape_.options.model == KgeModel::kComplEx ? d / 2 : 0;
  const T* masks = masks_.values<T>().data();
  for (int64_t e = 0; e < batch.size(); ++e, masks += 2 * d, d_v += d) {
    const T* const h = RowOf(rows.heads, e, parameters + at_.entity, batch.head[e], d);
    const T* const r = RowOf(rows.relations, e, parameters + at_.relation, batch.relation[e], d);
    const T *const m = masks, *const n = masks + d;
    T* const d_h = RowOf(d_rows.heads, e, gradient + at_.entity, batch.head[e], d);
    T* const d_r = RowOf(d_rows.relations, e, gradient + at_.relation, batch.relation[e], d);
    if (half == 0) {
      for (int64_t j = 0; j < d; ++j) {
        const T both = d_v[j] * m[j] * n[j];
        d_h[j] += both * r[j];
        d_r[j] += both * h[j];
      }
      continue;
    }
    for (int64_t j = 0, k = half; j < half; ++j, ++k) {
      const T h_re = h[j] * m[j], h_im = h[k] * m[k], r_re = r[j] * n[j], r_im = r[k] * n[k];
      d_h[j] += m[j] * (d_v[j] * r_re + d_v[k] * r_im);
      d_h[k] += m[k] * (d_v[k] * r_re - d_v[j] * r_im);
      d_r[j] += n[j] * (d_v[j] * h_re + d_v[k] * h_im);
      d_r[k] += n[k] * (d_v[k] * h_re - d_v[j] * h_im);
    }
  }
}

template class ProductLayers<float>;
template class ProductLayers<double>;

}  // namespace rutile
