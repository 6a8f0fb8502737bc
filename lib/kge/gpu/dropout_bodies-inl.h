// Elements of dropout masks, computed where they are used: the same bits as FillDropout of lib/kge/layers/dropout.h.

#ifndef RUTILE_LIB_KGE_GPU_DROPOUT_BODIES_INL_H_
#define RUTILE_LIB_KGE_GPU_DROPOUT_BODIES_INL_H_

#include <cstdint>

#include "lib/gpu/device_function.h"

namespace rutile {

// What decides on an element, from the rate: lround(rate 65536), and 1 / (1 - rate).
template <typename T>
struct DropoutRate {
  uint32_t dropped;  // of 65536 draws
  T kept;
};
template <typename T>
inline DropoutRate<T> MakeDropoutRate(double rate) {
  return {static_cast<uint32_t>(rate * 65536 + 0.5), static_cast<T>(1 / (1 - rate))};
}

// Returns element k of the mask with this key: 0, or 1 / (1 - rate).
template <typename T>
RUTILE_DEVICE inline T DropoutScale(uint64_t key, const DropoutRate<T>& rate, int64_t k) {
  uint64_t x = key + 0x9e3779b97f4a7c15ULL * (static_cast<uint64_t>(k) / 4 + 1);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  x ^= x >> 31;
  const uint32_t draw = static_cast<uint32_t>(x >> (16 * (k % 4))) & 0xffff;
  return draw < rate.dropped ? T{0} : rate.kept;
}

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_GPU_DROPOUT_BODIES_INL_H_
