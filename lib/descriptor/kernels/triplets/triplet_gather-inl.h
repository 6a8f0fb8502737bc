// Loads the data of the two neighbors of listed triplets into vectors, and adds results back to the neighbors. Highway
// compiles this file once for each instruction set.

#if defined(RUTILE_LIB_DESCRIPTOR_KERNELS_TRIPLETS_TRIPLET_GATHER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUTILE_LIB_DESCRIPTOR_KERNELS_TRIPLETS_TRIPLET_GATHER_INL_H_
#undef RUTILE_LIB_DESCRIPTOR_KERNELS_TRIPLETS_TRIPLET_GATHER_INL_H_
#else
#define RUTILE_LIB_DESCRIPTOR_KERNELS_TRIPLETS_TRIPLET_GATHER_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "lib/descriptor/kernels/transpose-inl.h"
#include "lib/machine/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class V>
struct Columns {
  V x, y, z, f;
};

// Loads the rows at[0], at[1], ... of rows4 [near, 4] as columns. Loads and shuffles are faster than gathers, which
// cost a load for each element.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE Columns<hn::Vec<D>> FetchRows(D d, const T* rows4, const uint16_t* at) {
  const auto row = [=](int lane) HWY_ATTR { return rows4 + 4 * size_t{at[lane]}; };
#if HWY_TARGET == HWY_SCALAR
  return {hn::Load(d, row(0)), hn::Load(d, row(0) + 1), hn::Load(d, row(0) + 2), hn::Load(d, row(0) + 3)};
#else
  using V = hn::Vec<D>;
  constexpr int kLanes = ConstantLanes(D());
  if constexpr (kLanes == 8) {
    const hn::Half<D> half;
    const hn::RepartitionToWide<D> d64;
    const auto pair = [=](int lane)
                          HWY_ATTR { return hn::Combine(d, hn::Load(half, row(lane + 4)), hn::Load(half, row(lane))); };
    const V v0 = pair(0), v1 = pair(1), v2 = pair(2), v3 = pair(3);
    const auto xy01 = hn::BitCast(d64, hn::InterleaveLower(d, v0, v1));
    const auto xy23 = hn::BitCast(d64, hn::InterleaveLower(d, v2, v3));
    const auto zf01 = hn::BitCast(d64, hn::InterleaveUpper(d, v0, v1));
    const auto zf23 = hn::BitCast(d64, hn::InterleaveUpper(d, v2, v3));
    return {hn::BitCast(d, hn::InterleaveLower(d64, xy01, xy23)), hn::BitCast(d, hn::InterleaveUpper(d64, xy01, xy23)),
            hn::BitCast(d, hn::InterleaveLower(d64, zf01, zf23)), hn::BitCast(d, hn::InterleaveUpper(d64, zf01, zf23))};
  } else if constexpr (kLanes == 4) {
    V v[4] = {hn::Load(d, row(0)), hn::Load(d, row(1)), hn::Load(d, row(2)), hn::Load(d, row(3))};
    Transpose(d, v);
    return {v[0], v[1], v[2], v[3]};
  } else {
    static_assert(kLanes == 2, "vectors of 16 or 32 bytes");
    const V xy0 = hn::Load(d, row(0)), xy1 = hn::Load(d, row(1));
    const V zf0 = hn::Load(d, row(0) + 2), zf1 = hn::Load(d, row(1) + 2);
    return {hn::InterleaveLower(d, xy0, xy1), hn::InterleaveUpper(d, xy0, xy1), hn::InterleaveLower(d, zf0, zf1),
            hn::InterleaveUpper(d, zf0, zf1)};
  }
#endif
}

template <class D, class V>
HWY_INLINE V DotOf(D /*d*/, const Columns<V>& a, const Columns<V>& b) {
  return hn::MulAdd(a.x, b.x, hn::MulAdd(a.y, b.y, hn::Mul(a.z, b.z)));
}

// Four elements of a row, in whatever registers the target has.
template <typename T>
struct Row;
template <>
struct Row<float> {
  using Vec = float __attribute__((vector_size(16), may_alias));
};
template <>
struct Row<double> {
  using Vec = double __attribute__((vector_size(32), may_alias));
};

// Adds (p, p, p, s) weight4[b] to sums4[a], and (p, p, p, s) weight4[a] to sums4[b], for `count` triplets one after the
// other. by_cosine, sum: p and s. Consecutive triplets mostly share a, so that its sum stays in registers.
template <typename T>
HWY_INLINE void AddToNeighbors(const uint16_t* a, const uint16_t* b, const T* by_cosine, const T* sum, int64_t count,
                               const T* weight4, T* sums4) {
  using Vec = typename Row<T>::Vec;
  const Vec* const weights = reinterpret_cast<const Vec*>(weight4);
  Vec* const sums = reinterpret_cast<Vec*>(sums4);
  for (int64_t t = 0; t < count;) {
    const size_t own = a[t];
    const Vec weight = weights[own];
    Vec total = {};
    do {
      const Vec factor = {by_cosine[t], by_cosine[t], by_cosine[t], sum[t]};
      total += factor * weights[b[t]];
      sums[b[t]] += factor * weight;
      ++t;
    } while (t < count && a[t] == own);
    sums[own] += total;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#endif  // include guard
