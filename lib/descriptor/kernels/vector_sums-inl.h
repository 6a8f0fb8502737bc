// Computes horizontal sums of many vectors at once. Highway compiles this file once for each instruction set.

#if defined(RUTILE_LIB_DESCRIPTOR_KERNELS_VECTOR_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUTILE_LIB_DESCRIPTOR_KERNELS_VECTOR_SUMS_INL_H_
#undef RUTILE_LIB_DESCRIPTOR_KERNELS_VECTOR_SUMS_INL_H_
#else
#define RUTILE_LIB_DESCRIPTOR_KERNELS_VECTOR_SUMS_INL_H_
#endif

#include <cstddef>

#include "lib/machine/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The number of vectors that may be live in registers beside a loop's own: the rest of 32 with AVX-512, of 16 below it.
constexpr int kAccumulators = HWY_TARGET == HWY_AVX3 ? 26 : 12;

template <class D>
constexpr size_t LaneCount(D /*d*/) {
  return HWY_LANES(hn::TFromD<D>);
}

// Returns v[kIndex], or zero beyond the end.
template <int kIndex, int kCount, class D, class V>
HWY_INLINE V At(D d, const V (&v)[kCount]) {
  if constexpr (kIndex < kCount) {
    return v[kIndex];
  } else {
    return hn::Zero(d);
  }
}

#if HWY_TARGET == HWY_SCALAR

template <int kBegin, int kCount, class D, class V>
HWY_INLINE V SumsOf(D /*d*/, const V (&v)[kCount]) {
  return v[kBegin];
}

#else

// Returns, for each 128-bit block, the sums over that block of as many vectors as a block has lanes, from v[kBegin] on.
template <int kBegin, int kCount, class D, class V>
HWY_INLINE V BlockSums(D d, const V (&v)[kCount]) {
  const auto add_pairs = [d](V a, V b)
                             HWY_ATTR { return hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b)); };
  const V a = At<kBegin>(d, v), b = At<kBegin + 1>(d, v);
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    return add_pairs(a, b);
  } else {
    const V c = At<kBegin + 2>(d, v), e = At<kBegin + 3>(d, v);
    return add_pairs(add_pairs(a, c), add_pairs(b, e));
  }
}

// Returns a vector whose lane i is the sum over all lanes of v[kBegin + i].
template <int kBegin, int kCount, class D, class V>
HWY_INLINE V SumsOf(D d, const V (&v)[kCount]) {
  constexpr int kPerBlock = 16 / sizeof(hn::TFromD<D>);
  constexpr size_t kBlocks = LaneCount(D()) / kPerBlock;
  const V s0 = BlockSums<kBegin>(d, v);
  if constexpr (kBlocks == 1) {
    return s0;
  } else {
    const auto fold = [d](V low, V high) HWY_ATTR {
      return hn::Add(hn::ConcatLowerLower(d, high, low), hn::ConcatUpperUpper(d, high, low));
    };
    const V s1 = BlockSums<kBegin + kPerBlock>(d, v);
    if constexpr (kBlocks == 2) {
      return fold(s0, s1);
    } else {
      const V even = fold(s0, BlockSums<kBegin + 2 * kPerBlock>(d, v));
      const V odd = fold(s1, BlockSums<kBegin + 3 * kPerBlock>(d, v));
      return hn::Add(hn::OddEvenBlocks(odd, even), hn::SwapAdjacentBlocks(hn::OddEvenBlocks(even, odd)));
    }
  }
}

#endif  // HWY_SCALAR

// The sums that features are made of, with weight 1 and with typespins. There is room for a whole vector behind the
// last.
template <typename T>
struct WeightedSums {
  T* plain;
  T* spin;  // null for one species
};

// Adds the sum of v[i] to to.plain[i], and weight times it to to.spin[i]; adds zeros up to the next whole vector.
template <int kBegin = 0, int kCount, class D, class V>
HWY_INLINE void AddSums(D d, const V (&v)[kCount], hn::TFromD<D> weight, WeightedSums<hn::TFromD<D>> to) {
  const V sums = SumsOf<kBegin>(d, v);
  hn::StoreU(hn::Add(hn::LoadU(d, to.plain + kBegin), sums), d, to.plain + kBegin);
  if (to.spin != nullptr) {
    hn::StoreU(hn::MulAdd(hn::Set(d, weight), sums, hn::LoadU(d, to.spin + kBegin)), d, to.spin + kBegin);
  }
  constexpr int kNext = kBegin + static_cast<int>(LaneCount(D()));
  if constexpr (kNext < kCount) AddSums<kNext>(d, v, weight, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#endif  // include guard
