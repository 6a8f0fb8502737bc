#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/kge/layers/dropout.cc"
#include "hwy/foreach_target.h"
// The order matters: foreach_target.h includes this file again for each target.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "lib/machine/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {

// The finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): enough for masks, and it vectorizes.
HWY_INLINE uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// Each word decides on four elements, from its lowest 16 bits up. The loops are plain, for the compiler to vectorize.
template <typename T>
HWY_INLINE void Fill(uint64_t key, uint32_t dropped, T kept, size_t n, T* scale) {
  constexpr size_t kWords = 64;
  uint64_t words[kWords];
  uint16_t draws[4 * kWords];
  for (size_t begin = 0; begin < n; begin += 4 * kWords) {
    for (size_t w = 0; w < kWords; ++w) words[w] = Mix(key + 0x9e3779b97f4a7c15ULL * (begin / 4 + w + 1));
    for (size_t w = 0; w < kWords; ++w) {
      for (size_t k = 0; k < 4; ++k) draws[4 * w + k] = static_cast<uint16_t>(words[w] >> (16 * k));
    }
    const size_t here = std::min(n - begin, 4 * kWords);
    for (size_t k = 0; k < here; ++k) scale[begin + k] = draws[k] < dropped ? T{0} : kept;
  }
}

void FillF32(uint64_t key, uint32_t dropped, float kept, size_t n, float* scale) { Fill(key, dropped, kept, n, scale); }
void FillF64(uint64_t key, uint32_t dropped, double kept, size_t n, double* scale) {
  Fill(key, dropped, kept, n, scale);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <cmath>

#include "lib/base/random.h"
#include "lib/kge/layers/dropout.h"

namespace rutile {
namespace {

HWY_EXPORT(FillF32);
HWY_EXPORT(FillF64);

void FillWith(uint64_t key, uint32_t dropped, float kept, absl::Span<float> scale) {
  HWY_DYNAMIC_DISPATCH(FillF32)(key, dropped, kept, scale.size(), scale.data());
}
void FillWith(uint64_t key, uint32_t dropped, double kept, absl::Span<double> scale) {
  HWY_DYNAMIC_DISPATCH(FillF64)(key, dropped, kept, scale.size(), scale.data());
}

template <typename T>
void FillFrom(uint64_t key, double rate, absl::Span<T> scale) {
  const uint32_t dropped = static_cast<uint32_t>(std::lround(rate * 65536));  // of 65536 values of 16 bits
  FillWith(key, dropped, static_cast<T>(1 / (1 - rate)), scale);
}

}  // namespace

uint64_t DropoutKey(uint64_t seed, int64_t epoch, int64_t example, DropoutLayer layer) {
  return RandomStream(seed + 0x9e3779b97f4a7c15ULL * static_cast<uint64_t>(layer), "dropout", epoch, example).Next();
}

uint64_t CandidateDropoutKey(uint64_t seed, int64_t epoch, int64_t number) {
  return RandomStream(seed, "candidate_dropout", epoch, number).Next();
}

template <typename T>
void FillDropout(uint64_t seed, int64_t epoch, int64_t example, DropoutLayer layer, double rate, absl::Span<T> scale) {
  FillFrom(DropoutKey(seed, epoch, example, layer), rate, scale);
}

template <typename T>
void FillCandidateDropout(uint64_t seed, int64_t epoch, int64_t number, int64_t entity, double rate,
                          absl::Span<T> scale) {
  const uint64_t of_batch = CandidateDropoutKey(seed, epoch, number);
  FillFrom(RandomStream(of_batch, "candidate_dropout", /*epoch=*/0, entity).Next(), rate, scale);
}

template void FillDropout(uint64_t, int64_t, int64_t, DropoutLayer, double, absl::Span<float>);
template void FillDropout(uint64_t, int64_t, int64_t, DropoutLayer, double, absl::Span<double>);
template void FillCandidateDropout(uint64_t, int64_t, int64_t, int64_t, double, absl::Span<float>);
template void FillCandidateDropout(uint64_t, int64_t, int64_t, int64_t, double, absl::Span<double>);

}  // namespace rutile
#endif  // HWY_ONCE
