#include "lib/kge/layers/tucker_layers.h"

#include <algorithm>

#include "absl/types/span.h"
#include "lib/kge/layers/product_masks.h"
#include "lib/kge/layers/workspace.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/matrix/matrix_view.h"
#include "lib/matrix/row_dot.h"

namespace rutile {
namespace {

// Numbers of the features that are in memory at once: 16 MB in fp32, and as much for their gradients.
constexpr int64_t kFeatureNumbers = int64_t{1} << 22;

}  // namespace

template <typename T>
void TuckerFeatures(const KgeShape& shape, const T* h, const T* r, T* f) {
  const int64_t d = shape.dim();
  for (int64_t k = 0; k < shape.relation_dim(); ++k) {
    for (int64_t i = 0; i < d; ++i) f[k * d + i] = r[k] * h[i];
  }
}

template <typename T>
void AddTuckerFeatureGradients(const KgeShape& shape, const T* h, const T* r, const T* d_f, T* d_h, T* d_r) {
  const int64_t d = shape.dim();
  for (int64_t k = 0; k < shape.relation_dim(); ++k) {
    const T* const row = d_f + k * d;
    for (int64_t i = 0; i < d; ++i) d_h[i] += r[k] * row[i];
    d_r[k] += RowDot(h, row, d);
  }
}

template <typename T>
TuckerLayers<T>::TuckerLayers(const KgeShape& shape, ThreadPool* pool)
    : shape_(shape),
      at_(shape.offsets()),
      chunk_(std::max<int64_t>(1, kFeatureNumbers / shape.num_features())),
      products_(FactorRounding::kNone, pool) {}

template <typename T>
void TuckerLayers<T>::Gather(const T* parameters, const KgeBatch& batch, const BatchRows<T>& rows) {
  const int64_t d = shape_.dim(), of_relation = shape_.relation_dim(), both = d + of_relation;
  const bool drops = DropsRows(shape_.options, batch);
  T* masked = Take<T>(&masked_, batch.size() * both);
  T* masks = Take<T>(&masks_, drops ? batch.size() * both : 0);
  for (int64_t e = 0; e < batch.size(); ++e, masked += both) {
    std::copy_n(RowOf(rows.heads, e, parameters + at_.entity, batch.head[e], d), d, masked);
    std::copy_n(RowOf(rows.relations, e, parameters + at_.relation, batch.relation[e], of_relation), of_relation,
                masked + d);
    if (!drops) continue;
    FillProductMasks(shape_.options, batch, e, absl::MakeSpan(masks, both));
    for (int64_t j = 0; j < both; ++j) masked[j] *= masks[j];
    masks += both;
  }
}

template <typename T>
const T* TuckerLayers<T>::Features(int64_t begin, int64_t end) {
  const int64_t d = shape_.dim(), both = d + shape_.relation_dim(), width = shape_.num_features();
  const T* const masked = masked_.values<T>().data();
  T* const features = Take<T>(&features_, (end - begin) * width);
  for (int64_t e = begin; e < end; ++e) {
    TuckerFeatures(shape_, masked + e * both, masked + e * both + d, features + (e - begin) * width);
  }
  return features;
}

template <typename T>
void TuckerLayers<T>::Forward(const T* parameters, const KgeBatch& batch, T* v, const BatchRows<T>& rows) {
  const int64_t d = shape_.dim(), width = shape_.num_features();
  Gather(parameters, batch, rows);
  const MatrixView<T> core = {parameters + at_.fc_weight, d, width, width};
  for (int64_t begin = 0, end; begin < batch.size(); begin = end) {
    end = std::min(begin + chunk_, batch.size());
    const MatrixView<T> features = {Features(begin, end), end - begin, width, width};
    products_.Multiply(features, core.Transposed(), /*add=*/false, v + begin * d, d);
  }
}

template <typename T>
void TuckerLayers<T>::Backward(const T* parameters, const KgeBatch& batch, const T* d_v, T* gradient,
                               const BatchRows<T>& rows, const BatchRowGradients<T>& d_rows) {
  const int64_t d = shape_.dim(), of_relation = shape_.relation_dim(), both = d + of_relation;
  const int64_t width = shape_.num_features();
  const MatrixView<T> core = {parameters + at_.fc_weight, d, width, width};
  const T* const masked = masked_.values<T>().data();
  const T* const masks = DropsRows(shape_.options, batch) ? masks_.values<T>().data() : nullptr;
  T* const slopes = Take<T>(&slopes_, both);
  for (int64_t begin = 0, end; begin < batch.size(); begin = end) {
    end = std::min(begin + chunk_, batch.size());
    const MatrixView<T> of_v = {d_v + begin * d, end - begin, d, d};
    const MatrixView<T> features = {Features(begin, end), end - begin, width, width};
    products_.Multiply(of_v.Transposed(), features, /*add=*/true, gradient + at_.fc_weight, width);
    T* const d_features = Take<T>(&d_features_, (end - begin) * width);
    products_.Multiply(of_v, core, /*add=*/false, d_features, width);
    for (int64_t e = begin; e < end; ++e) {
      const T* const h = masked + e * both;
      std::fill_n(slopes, both, T(0));
      AddTuckerFeatureGradients(shape_, h, h + d, d_features + (e - begin) * width, slopes, slopes + d);
      T* const d_h = RowOf(d_rows.heads, e, gradient + at_.entity, batch.head[e], d);
      T* const d_r = RowOf(d_rows.relations, e, gradient + at_.relation, batch.relation[e], of_relation);
      const T* const mask = masks == nullptr ? nullptr : masks + e * both;
      for (int64_t j = 0; j < d; ++j) d_h[j] += mask == nullptr ? slopes[j] : mask[j] * slopes[j];
      for (int64_t j = d; j < both; ++j) d_r[j - d] += mask == nullptr ? slopes[j] : mask[j] * slopes[j];
    }
  }
}

template void TuckerFeatures(const KgeShape&, const float*, const float*, float*);
template void TuckerFeatures(const KgeShape&, const double*, const double*, double*);
template void AddTuckerFeatureGradients(const KgeShape&, const float*, const float*, const float*, float*, float*);
template void AddTuckerFeatureGradients(const KgeShape&, const double*, const double*, const double*, double*, double*);
template class TuckerLayers<float>;
template class TuckerLayers<double>;

}  // namespace rutile
