#include "lib/kge/layers/product_query.h"

#include <algorithm>
#include <cmath>

#include "lib/base/logging.h"
#include "lib/matrix/row_dot.h"

namespace rutile {

template <typename T>
void ProductQuery(const KgeShape& shape, const T* h, const T* r, T* v) {
  const int64_t d = shape.dim(), half = d / 2;
  switch (shape.options.model) {
    case KgeModel::kConvE:
    case KgeModel::kTucker:
      break;
    case KgeModel::kDistMult:
      for (int64_t j = 0; j < d; ++j) v[j] = h[j] * r[j];
      return;
    case KgeModel::kComplEx:
      for (int64_t j = 0, k = half; j < half; ++j, ++k) {
        v[j] = h[j] * r[j] - h[k] * r[k];
        v[k] = h[j] * r[k] + h[k] * r[j];
      }
      return;
    case KgeModel::kRescal:
      std::fill_n(v, d, T(0));
      for (int64_t i = 0; i < d; ++i) {
        const T* const row = r + i * d;
        for (int64_t j = 0; j < d; ++j) v[j] += h[i] * row[j];
      }
      return;
    case KgeModel::kCp:
      std::fill_n(v, half, T(0));
      for (int64_t j = 0; j < half; ++j) v[half + j] = h[j] * r[j];
      return;
    case KgeModel::kSimple:
      for (int64_t j = 0, k = half; j < half; ++j, ++k) {
        v[j] = T(0.5) * (h[k] * r[k]);
        v[k] = T(0.5) * (h[j] * r[j]);
      }
      return;
    case KgeModel::kTransE:
      for (int64_t j = 0; j < d; ++j) v[j] = h[j] + r[j];
      return;
    case KgeModel::kRotatE:
      for (int64_t j = 0, k = half; j < half; ++j, ++k) {
        const T cosine = std::cos(r[j]), sine = std::sin(r[j]);
        v[j] = h[j] * cosine - h[k] * sine;
        v[k] = h[j] * sine + h[k] * cosine;
      }
      return;
  }
  LOG(FATAL) << "a model with weights beside embeddings";
}

template <typename T>
void AddProductGradients(const KgeShape& shape, const T* h, const T* r, const T* d_v, T* d_h, T* d_r) {
  const int64_t d = shape.dim(), half = d / 2;
  switch (shape.options.model) {
    case KgeModel::kConvE:
    case KgeModel::kTucker:
      break;
    case KgeModel::kDistMult:
      for (int64_t j = 0; j < d; ++j) {
        d_h[j] += d_v[j] * r[j];
        d_r[j] += d_v[j] * h[j];
      }
      return;
    case KgeModel::kComplEx:
      for (int64_t j = 0, k = half; j < half; ++j, ++k) {
        d_h[j] += d_v[j] * r[j] + d_v[k] * r[k];
        d_h[k] += d_v[k] * r[j] - d_v[j] * r[k];
        d_r[j] += d_v[j] * h[j] + d_v[k] * h[k];
        d_r[k] += d_v[k] * h[j] - d_v[j] * h[k];
      }
      return;
    case KgeModel::kRescal:
      for (int64_t i = 0; i < d; ++i) {
        T* const d_row = d_r + i * d;
        for (int64_t j = 0; j < d; ++j) d_row[j] += h[i] * d_v[j];
        d_h[i] += RowDot(r + i * d, d_v, d);
      }
      return;
    case KgeModel::kCp:
      for (int64_t j = 0; j < half; ++j) {
        d_h[j] += d_v[half + j] * r[j];
        d_r[j] += d_v[half + j] * h[j];
      }
      return;
    case KgeModel::kSimple:
      for (int64_t j = 0, k = half; j < half; ++j, ++k) {
        d_h[k] += T(0.5) * (d_v[j] * r[k]);
        d_r[k] += T(0.5) * (d_v[j] * h[k]);
        d_h[j] += T(0.5) * (d_v[k] * r[j]);
        d_r[j] += T(0.5) * (d_v[k] * h[j]);
      }
      return;
    case KgeModel::kTransE:
      for (int64_t j = 0; j < d; ++j) {
        d_h[j] += d_v[j];
        d_r[j] += d_v[j];
      }
      return;
    case KgeModel::kRotatE:
      for (int64_t j = 0, k = half; j < half; ++j, ++k) {
        const T cosine = std::cos(r[j]), sine = std::sin(r[j]);
        d_h[j] += d_v[j] * cosine + d_v[k] * sine;
        d_h[k] += d_v[k] * cosine - d_v[j] * sine;
        d_r[j] += d_v[k] * (h[j] * cosine - h[k] * sine) - d_v[j] * (h[j] * sine + h[k] * cosine);
      }
      return;
  }
  LOG(FATAL) << "a model with weights beside embeddings";
}

template void ProductQuery(const KgeShape&, const float*, const float*, float*);
template void ProductQuery(const KgeShape&, const double*, const double*, double*);
template void AddProductGradients(const KgeShape&, const float*, const float*, const float*, float*, float*);
template void AddProductGradients(const KgeShape&, const double*, const double*, const double*, double*, double*);

}  // namespace rutile
