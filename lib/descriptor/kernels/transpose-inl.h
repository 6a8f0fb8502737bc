// Transposes square blocks: as many vectors as a vector has lanes. Highway compiles this file once for each instruction
// set.

#if defined(RUTILE_LIB_DESCRIPTOR_KERNELS_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUTILE_LIB_DESCRIPTOR_KERNELS_TRANSPOSE_INL_H_
#undef RUTILE_LIB_DESCRIPTOR_KERNELS_TRANSPOSE_INL_H_
#else
#define RUTILE_LIB_DESCRIPTOR_KERNELS_TRANSPOSE_INL_H_
#endif

#include <cstddef>

#include "lib/machine/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
constexpr int ConstantLanes(D d) {
  return static_cast<int>(hn::MaxLanes(d));
}

// Transposes vectors of up to 256 bits: lane k of v[i] becomes lane i of v[k].
template <class D, class V, int kLanes>
HWY_INLINE void Transpose(D d, V (&v)[kLanes]) {
  static_assert(kLanes == ConstantLanes(D()), "a square");
#if HWY_TARGET != HWY_SCALAR
  using T = hn::TFromD<D>;
  if constexpr (kLanes == 2) {
    const V a = v[0], b = v[1];
    v[0] = hn::InterleaveLower(d, a, b);
    v[1] = hn::InterleaveUpper(d, a, b);
  } else if constexpr (kLanes == 4 && sizeof(T) == 8) {
    const V a = hn::InterleaveLower(d, v[0], v[1]), b = hn::InterleaveUpper(d, v[0], v[1]);
    const V c = hn::InterleaveLower(d, v[2], v[3]), e = hn::InterleaveUpper(d, v[2], v[3]);
    v[0] = hn::ConcatLowerLower(d, c, a);
    v[1] = hn::ConcatLowerLower(d, e, b);
    v[2] = hn::ConcatUpperUpper(d, c, a);
    v[3] = hn::ConcatUpperUpper(d, e, b);
  } else if constexpr (kLanes >= 4) {  // 32-bit lanes
    const hn::RepartitionToWide<D> d64;
    V quads[kLanes];  // in each 128-bit block, four lanes of four vectors
    for (int k = 0; k < kLanes; k += 4) {
      const V a = hn::InterleaveLower(d, v[k], v[k + 1]), b = hn::InterleaveUpper(d, v[k], v[k + 1]);
      const V c = hn::InterleaveLower(d, v[k + 2], v[k + 3]), e = hn::InterleaveUpper(d, v[k + 2], v[k + 3]);
      const auto a64 = hn::BitCast(d64, a), b64 = hn::BitCast(d64, b);
      const auto c64 = hn::BitCast(d64, c), e64 = hn::BitCast(d64, e);
      quads[k] = hn::BitCast(d, hn::InterleaveLower(d64, a64, c64));
      quads[k + 1] = hn::BitCast(d, hn::InterleaveUpper(d64, a64, c64));
      quads[k + 2] = hn::BitCast(d, hn::InterleaveLower(d64, b64, e64));
      quads[k + 3] = hn::BitCast(d, hn::InterleaveUpper(d64, b64, e64));
    }
    for (int k = 0; k < 4; ++k) {
      if constexpr (kLanes == 8) {
        v[k] = hn::ConcatLowerLower(d, quads[k + 4], quads[k]);
        v[k + 4] = hn::ConcatUpperUpper(d, quads[k + 4], quads[k]);
      } else {
        v[k] = quads[k];
      }
    }
  }
#endif
}

// Stores to[k, lane] = from[lane][at + k] for k = 0 .. lanes - 1.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void TransposeIn(D d, const T* const* from, size_t at, T* to) {
  constexpr int kLanes = ConstantLanes(D());
  hn::Vec<D> v[kLanes];
  for (int k = 0; k < kLanes; ++k) v[k] = hn::LoadU(d, from[k] + at);
  Transpose(d, v);
  for (int k = 0; k < kLanes; ++k) hn::Store(v[k], d, to + k * kLanes);
}

// Stores to[lane][at + k] = from[k, lane] for k = 0 .. lanes - 1, if to[lane] is not null.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void TransposeOut(D d, const T* from, size_t at, T* const* to) {
  constexpr int kLanes = ConstantLanes(D());
  hn::Vec<D> v[kLanes];
  for (int k = 0; k < kLanes; ++k) v[k] = hn::Load(d, from + k * kLanes);
  Transpose(d, v);
  for (int k = 0; k < kLanes; ++k) {
    if (to[k] != nullptr) hn::StoreU(v[k], d, to[k] + at);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#endif  // include guard
