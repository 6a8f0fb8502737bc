// Vectors of channels with or without tangents, and loops over them. Highway compiles this file once for each
// instruction set.

// Read again for each target.
#if defined(RUTILE_LIB_MANY_BODY_CHANNEL_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUTILE_LIB_MANY_BODY_CHANNEL_VECTORS_INL_H_
#undef RUTILE_LIB_MANY_BODY_CHANNEL_VECTORS_INL_H_
#else
#define RUTILE_LIB_MANY_BODY_CHANNEL_VECTORS_INL_H_
#endif

#include <cstdint>

#include "lib/machine/simd.h"
#include "lib/many_body/product_passes.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
using VecOf = hn::Vec<hn::ScalableTag<T>>;

// The number of vectors that a pass works on at once. Sums of that many vectors hide the latency of multiply-add, and
// stay in registers.
template <typename T>
constexpr int MostVectors(bool dual) {
  return hn::MaxLanes(hn::ScalableTag<T>()) * sizeof(T) >= 64 && !dual ? 4 : 2;
}

// Calls body.Run<V>(first channel) until all channels are done.
template <typename T, int V, class Body>
HWY_INLINE void ForVectors(int channels, const Body& body) {
  const int lanes = hn::Lanes(hn::ScalableTag<T>());
  int k = 0;
  for (; k + V * lanes <= channels; k += V * lanes) body.template Run<V>(k);
  if constexpr (V > 2) {
    for (; k + 2 * lanes <= channels; k += 2 * lanes) body.template Run<2>(k);
  }
  for (; k < channels; k += lanes) body.template Run<1>(k);
}

// V vectors of numbers, with their tangents if kDual.
template <typename T, int V, bool kDual>
struct Numbers {
  VecOf<T> value[V];
  VecOf<T> dot[kDual ? V : 1];

  HWY_INLINE void SetZero() {
    const hn::ScalableTag<T> d;
    for (int v = 0; v < V; ++v) {
      value[v] = hn::Zero(d);
      if constexpr (kDual) dot[v] = hn::Zero(d);
    }
  }
  HWY_INLINE void Load(WithTangent<const T> from, int64_t at) {
    const hn::ScalableTag<T> d;
    const int64_t lanes = hn::Lanes(d);
    for (int v = 0; v < V; ++v) {
      value[v] = hn::Load(d, from.value + at + v * lanes);
      if constexpr (kDual) dot[v] = hn::Load(d, from.dot + at + v * lanes);
    }
  }
  HWY_INLINE void Store(WithTangent<T> to, int64_t at) const {
    const hn::ScalableTag<T> d;
    const int64_t lanes = hn::Lanes(d);
    for (int v = 0; v < V; ++v) {
      hn::Store(value[v], d, to.value + at + v * lanes);
      if constexpr (kDual) hn::Store(dot[v], d, to.dot + at + v * lanes);
    }
  }
  // this += a b.
  HWY_INLINE void Add(const Numbers& a, const Numbers& b) {
    for (int v = 0; v < V; ++v) {
      value[v] = hn::MulAdd(a.value[v], b.value[v], value[v]);
      if constexpr (kDual) dot[v] = hn::MulAdd(a.dot[v], b.value[v], hn::MulAdd(a.value[v], b.dot[v], dot[v]));
    }
  }
  // this += factor a b.
  HWY_INLINE void Add(const VecOf<T>& factor, const Numbers& a, const Numbers& b) {
    for (int v = 0; v < V; ++v) {
      value[v] = hn::MulAdd(factor, hn::Mul(a.value[v], b.value[v]), value[v]);
      if constexpr (kDual) {
        dot[v] = hn::MulAdd(factor, hn::MulAdd(a.value[v], b.dot[v], hn::Mul(a.dot[v], b.value[v])), dot[v]);
      }
    }
  }
  // this += factors a, where factors are constants.
  HWY_INLINE void AddScaled(const VecOf<T> (&factors)[V], const Numbers& a) {
    for (int v = 0; v < V; ++v) {
      value[v] = hn::MulAdd(factors[v], a.value[v], value[v]);
      if constexpr (kDual) dot[v] = hn::MulAdd(factors[v], a.dot[v], dot[v]);
    }
  }
  // this = factors a, where factors are constants.
  HWY_INLINE void SetScaled(const VecOf<T> (&factors)[V], const Numbers& a) {
    for (int v = 0; v < V; ++v) {
      value[v] = hn::Mul(factors[v], a.value[v]);
      if constexpr (kDual) dot[v] = hn::Mul(factors[v], a.dot[v]);
    }
  }
};

template <typename T, int V>
HWY_INLINE void LoadVectors(const T* from, VecOf<T> (&to)[V]) {
  const hn::ScalableTag<T> d;
  for (int v = 0; v < V; ++v) to[v] = hn::Load(d, from + v * hn::Lanes(d));
}

// Calls body.Run<R>(first row) until all rows are done, R = kMost and then what is left.
template <int kMost, class Body>
HWY_INLINE void ForRows(int count, const Body& body) {
  int r = 0;
  for (; r + kMost <= count; r += kMost) body.template Run<kMost>(r);
  static_assert(kMost == 6);
  switch (count - r) {
    case 1:
      return body.template Run<1>(r);
    case 2:
      return body.template Run<2>(r);
    case 3:
      return body.template Run<3>(r);
    case 4:
      return body.template Run<4>(r);
    case 5:
      return body.template Run<5>(r);
    default:
      return;
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
