// Splits rows of any length into whole vectors and a last part, for kernels that Highway compiles for each instruction
// set.

// Highway includes this file once for each target.
#if defined(RUTILE_LIB_MATRIX_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUTILE_LIB_MATRIX_ROWS_INL_H_
#undef RUTILE_LIB_MATRIX_ROWS_INL_H_
#else
#define RUTILE_LIB_MATRIX_ROWS_INL_H_
#endif

#include <cstdint>

#include "lib/machine/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
using VecOf = hn::Vec<hn::ScalableTag<T>>;

// Largest possible number of lanes in a vector.
template <typename T>
constexpr int MaxLanes() {
  return 64 / static_cast<int>(sizeof(T));
}

// A whole vector of a row.
struct WholeVector {
  template <typename T>
  HWY_INLINE VecOf<T> Load(const T* from) const {
    return hn::LoadU(hn::ScalableTag<T>(), from);
  }
  template <typename T>
  HWY_INLINE void Store(VecOf<T> v, T* to) const {
    hn::StoreU(v, hn::ScalableTag<T>(), to);
  }
  // Returns v in existing lanes and `other` elsewhere.
  template <class V>
  HWY_INLINE V Or(V v, V other) const {
    return v;
  }
};

// The first `count` numbers of a vector: no others are read or written. Missing numbers are loaded as zeros.
struct PartOfVector {
  int count;

  template <typename T>
  HWY_INLINE VecOf<T> Load(const T* from) const {
    const hn::ScalableTag<T> d;
#if HWY_TARGET == HWY_AVX3
    return hn::MaskedLoad(hn::FirstN(d, count), d, from);
#else
    HWY_ALIGN T part[MaxLanes<T>()] = {};
    for (int i = 0; i < count; ++i) part[i] = from[i];
    return hn::Load(d, part);
#endif
  }
  template <typename T>
  HWY_INLINE void Store(VecOf<T> v, T* to) const {
    const hn::ScalableTag<T> d;
#if HWY_TARGET == HWY_AVX3
    hn::BlendedStore(v, hn::FirstN(d, count), d, to);
#else
    HWY_ALIGN T part[MaxLanes<T>()];
    hn::Store(v, d, part);
    for (int i = 0; i < count; ++i) to[i] = part[i];
#endif
  }
  template <class V>
  HWY_INLINE V Or(V v, V other) const {
    return hn::IfThenElse(hn::FirstN(hn::DFromV<V>(), count), v, other);
  }
};

// Calls body(part, i) for each vector of T from i on in [begin, end).
template <typename T, class Body>
HWY_INLINE void ForVectors(int64_t begin, int64_t end, const Body& body) {
  const int64_t lanes = hn::Lanes(hn::ScalableTag<T>());
  int64_t i = begin;
  for (; i + lanes <= end; i += lanes) body(WholeVector(), i);
  if (i < end) body(PartOfVector{static_cast<int>(end - i)}, i);
}

template <typename T>
HWY_INLINE T SumOf(VecOf<T> v) {
  return hn::GetLane(hn::SumOfLanes(hn::ScalableTag<T>(), v));
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
