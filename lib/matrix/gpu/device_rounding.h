// Rounds factors of products on a GPU as FactorRounding says (lib/matrix/factor_rounding.h), which tensor cores then
// multiply. The two numbers of kTwoParts are TF32 here, and keep 21 bits ("3xTF32"). Sums are fp32 in any case.

#ifndef RUTILE_LIB_MATRIX_GPU_DEVICE_ROUNDING_H_
#define RUTILE_LIB_MATRIX_GPU_DEVICE_ROUNDING_H_

#include <cstdint>
#include <cstring>

#include "lib/gpu/device_function.h"

namespace rutile {

RUTILE_DEVICE inline uint32_t BitsOf(float x) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(x);
#else
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
#endif
}
RUTILE_DEVICE inline float FloatOf(uint32_t bits) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(bits);
#else
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
#endif
}

// A factor as the sum of two numbers of TF32, which have 11 significant bits: hi is the nearest to x (ties away from
// zero) and lo is what is left, cut off, so that |x - hi - lo| <= 2^-22 |x| for normal numbers. lo is NaN if x is not
// finite, which no product then hides; hi is infinite (and lo as well, with the other sign) for the largest 2^-12 of
// finite numbers.
struct Tf32Parts {
  float hi, lo;
};
RUTILE_DEVICE inline Tf32Parts SplitToTf32(float x) {
  constexpr uint32_t kMask = 0xffffe000u, kHalf = 0x1000u;
  // Of a NaN the sum may be a number, but lo is NaN then.
  const float hi = FloatOf((BitsOf(x) + kHalf) & kMask);
  return {hi, FloatOf(BitsOf(x - hi) & kMask)};
}

// Returns the nearest bfloat16, ties to even, as a float. NaN stays NaN.
RUTILE_DEVICE inline float RoundToBf16(float x) {
  const uint32_t bits = BitsOf(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return x;
  return FloatOf((bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u);
}

}  // namespace rutile

#endif  // RUTILE_LIB_MATRIX_GPU_DEVICE_ROUNDING_H_
