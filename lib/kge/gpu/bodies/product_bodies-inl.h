// Bodies of DistMult and ComplEx: v(head, relation) and its gradients (ProductLayers of lib/kge/layers), and the
// vectors with which relations are predicted (RelationPrediction of lib/kge/training).

#ifndef RUTILE_LIB_KGE_GPU_BODIES_PRODUCT_BODIES_INL_H_
#define RUTILE_LIB_KGE_GPU_BODIES_PRODUCT_BODIES_INL_H_

#include <cstdint>

#include "lib/gpu/device_function.h"
#include "lib/kge/gpu/bodies/dropout_bodies-inl.h"
#include "lib/kge/gpu/kge_step_shape.h"

namespace rutile {

// The masks of head and relation of a query: kInput over both, or one of their own each.
template <typename T>
struct ProductMasks {
  const uint64_t *input, *head, *relation;  // keys [B], null: nothing is dropped
  DropoutRate<T> input_rate, head_rate, relation_rate;
  int64_t d;

  RUTILE_DEVICE T Head(int64_t query, int64_t k) const {
    if (input != nullptr) return DropoutScale(input[query], input_rate, k);
    return head != nullptr ? DropoutScale(head[query], head_rate, k) : T{1};
  }
  RUTILE_DEVICE T Relation(int64_t query, int64_t k) const {
    if (input != nullptr) return DropoutScale(input[query], input_rate, d + k);
    return relation != nullptr ? DropoutScale(relation[query], relation_rate, k) : T{1};
  }
};

template <typename T>
inline ProductMasks<T> MakeProductMasks(const KgeStepShape &shape, const KgeDeviceBatch &batch) {
  return {batch.mask_key[kDropInput],
          batch.mask_key[kDropHead],
          batch.mask_key[kDropRelation],
          MakeDropoutRate<T>(shape.rate[kDropInput]),
          MakeDropoutRate<T>(shape.rate[kDropHead]),
          MakeDropoutRate<T>(shape.rate[kDropRelation]),
          shape.dim};
}

// `half` is the distance from real to imaginary parts, 0 for real numbers. For each of B numbers, real or complex.
template <typename T>
struct ProductForwardBody {
  static constexpr int kThreads = 256;
  const T *entities, *relations;
  const int32_t *head, *relation;
  ProductMasks<T> masks;
  int64_t half;
  T *v;  // [B, d]

  RUTILE_DEVICE void operator()(int64_t i) const {
    const int64_t d = masks.d, numbers = half > 0 ? half : d, query = i / numbers, j = i % numbers, k = j + half;
    const T *const h = entities + head[query] * d, *const r = relations + relation[query] * d;
    const T h_re = h[j] * masks.Head(query, j), r_re = r[j] * masks.Relation(query, j);
    if (half == 0) {
      v[query * d + j] = h_re * r_re;
      return;
    }
    const T h_im = h[k] * masks.Head(query, k), r_im = r[k] * masks.Relation(query, k);
    v[query * d + j] = h_re * r_re - h_im * r_im;
    v[query * d + k] = h_re * r_im + h_im * r_re;
  }
};

// Computes the gradients of each query's own rows, d_heads and d_relations [B, d].
template <typename T>
struct ProductBackwardBody {
  static constexpr int kThreads = 256;
  const T *entities, *relations;
  const int32_t *head, *relation;
  ProductMasks<T> masks;
  int64_t half;
  const T *d_v;
  T *d_heads, *d_relations;

  RUTILE_DEVICE void operator()(int64_t i) const {
    const int64_t d = masks.d, numbers = half > 0 ? half : d, query = i / numbers, j = i % numbers, k = j + half;
    const T *const h = entities + head[query] * d, *const r = relations + relation[query] * d;
    const T *const slope = d_v + query * d;
    T *const d_h = d_heads + query * d, *const d_r = d_relations + query * d;
    const T m_re = masks.Head(query, j), n_re = masks.Relation(query, j);
    if (half == 0) {
      const T both = slope[j] * m_re * n_re;
      d_h[j] = both * r[j];
      d_r[j] = both * h[j];
      return;
    }
    const T m_im = masks.Head(query, k), n_im = masks.Relation(query, k);
    const T h_re = h[j] * m_re, h_im = h[k] * m_im, r_re = r[j] * n_re, r_im = r[k] * n_im;
    d_h[j] = m_re * (slope[j] * r_re + slope[k] * r_im);
    d_h[k] = m_im * (slope[k] * r_re - slope[j] * r_im);
    d_r[j] = n_re * (slope[j] * h_re + slope[k] * h_im);
    d_r[k] = n_im * (slope[k] * h_re - slope[j] * h_im);
  }
};

// Computes q(head, tail) [n, d] of triples, whose product with a relation's row is the score. For each of n numbers.
template <typename T>
struct PairVectorBody {
  static constexpr int kThreads = 256;
  const T *entities;
  const int32_t *head, *tail;
  int64_t d, half;
  T *q;

  RUTILE_DEVICE void operator()(int64_t i) const {
    const int64_t numbers = half > 0 ? half : d, triple = i / numbers, j = i % numbers, k = j + half;
    const T *const h = entities + head[triple] * d, *const t = entities + tail[triple] * d;
    T *const out = q + triple * d;
    if (half == 0) {
      out[j] = h[j] * t[j];
      return;
    }
    out[j] = h[j] * t[j] + h[k] * t[k];
    out[k] = h[j] * t[k] - h[k] * t[j];
  }
};

// Computes the gradients of heads, rows [0, n) of d_rows, and of tails, rows [n, 2 n).
template <typename T>
struct PairVectorBackwardBody {
  static constexpr int kThreads = 256;
  const T *entities;
  const int32_t *head, *tail;
  int64_t n, d, half;
  const T *d_q;
  T *d_rows;

  RUTILE_DEVICE void operator()(int64_t i) const {
    const int64_t numbers = half > 0 ? half : d, triple = i / numbers, j = i % numbers, k = j + half;
    const T *const h = entities + head[triple] * d, *const t = entities + tail[triple] * d;
    const T *const slope = d_q + triple * d;
    T *const d_h = d_rows + triple * d, *const d_t = d_rows + (n + triple) * d;
    if (half == 0) {
      d_h[j] = slope[j] * t[j];
      d_t[j] = slope[j] * h[j];
      return;
    }
    d_h[j] = slope[j] * t[j] + slope[k] * t[k];
    d_h[k] = slope[j] * t[k] - slope[k] * t[j];
    d_t[j] = slope[j] * h[j] - slope[k] * h[k];
    d_t[k] = slope[j] * h[k] + slope[k] * h[j];
  }
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_GPU_BODIES_PRODUCT_BODIES_INL_H_
