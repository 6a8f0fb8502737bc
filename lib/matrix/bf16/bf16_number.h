// Converts single numbers to and from bfloat16, as a reference for vectorized kernels.

#ifndef RUTILE_LIB_MATRIX_BF16_BF16_NUMBER_H_
#define RUTILE_LIB_MATRIX_BF16_BF16_NUMBER_H_

#include <cstdint>
#include <cstring>

namespace rutile {

// Rounds to nearest, ties to even. Any NaN stays a NaN, although adding to its bits could overflow its mantissa or
// sign.
inline uint16_t RoundToBf16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

inline float FromBf16(uint16_t rounded) {
  const uint32_t bits = static_cast<uint32_t>(rounded) << 16;
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

}  // namespace rutile

#endif  // RUTILE_LIB_MATRIX_BF16_BF16_NUMBER_H_
