// Moves chosen lanes to the front of a vector. Highway compiles this file once for each instruction set.

#if defined(RUTILE_LIB_DESCRIPTOR_KERNELS_COMPRESS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUTILE_LIB_DESCRIPTOR_KERNELS_COMPRESS_INL_H_
#undef RUTILE_LIB_DESCRIPTOR_KERNELS_COMPRESS_INL_H_
#else
#define RUTILE_LIB_DESCRIPTOR_KERNELS_COMPRESS_INL_H_
#endif

#include <cstdint>

#include "lib/machine/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Returns the lanes of v that are in the mask, in their order, at the front; the lanes behind them are unspecified.
//
// hn::Compress does the same, but Highway 1.0.3 as gcc 12 compiles it copies a table of 2 KiB (AVX-512) or 128 bytes
// (AVX2) to the stack in each call: 100 ns instead of 1.
template <class V, class M>
HWY_INLINE V CompressDoubles(V v, M mask) {
#if HWY_TARGET == HWY_AVX3
  return V{_mm512_maskz_compress_pd(mask.raw, v.raw)};
#elif HWY_TARGET == HWY_AVX2
  alignas(32) static constexpr uint32_t kHalves[16][8] = {
      {0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}, {2, 3, 0, 1, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7},
      {4, 5, 0, 1, 2, 3, 6, 7}, {0, 1, 4, 5, 2, 3, 6, 7}, {2, 3, 4, 5, 0, 1, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7},
      {6, 7, 0, 1, 2, 3, 4, 5}, {0, 1, 6, 7, 2, 3, 4, 5}, {2, 3, 6, 7, 0, 1, 4, 5}, {0, 1, 2, 3, 6, 7, 4, 5},
      {4, 5, 6, 7, 0, 1, 2, 3}, {0, 1, 4, 5, 6, 7, 2, 3}, {2, 3, 4, 5, 6, 7, 0, 1}, {0, 1, 2, 3, 4, 5, 6, 7}};
  const __m256i halves = _mm256_load_si256(reinterpret_cast<const __m256i*>(kHalves[_mm256_movemask_pd(mask.raw)]));
  return V{_mm256_castps_pd(_mm256_permutevar8x32_ps(_mm256_castpd_ps(v.raw), halves))};
#else
  return hn::Compress(v, mask);
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#endif  // include guard
