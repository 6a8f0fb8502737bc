#include "lib/kg/dropout.h"

#include <cmath>

#include "lib/base/random.h"

namespace rutile {
namespace {

// The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): enough for masks, and it vectorises.
inline uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

template <typename T>
void FillDropout(uint64_t seed, int64_t epoch, int64_t example, DropoutLayer layer, double rate, absl::Span<T> scale) {
  const uint64_t key =
      RandomStream(seed + 0x9e3779b97f4a7c15ULL * static_cast<uint64_t>(layer), "dropout", epoch, example).Next();
  const uint64_t dropped = static_cast<uint64_t>(std::lround(rate * 65536));  // of 65536 values of 16 bits
  const T kept = static_cast<T>(1 / (1 - rate));
  const size_t n = scale.size();
  for (size_t begin = 0; begin < n; begin += 4) {
    const uint64_t word = Mix(key + 0x9e3779b97f4a7c15ULL * (begin / 4 + 1));
    for (size_t k = begin; k < n && k < begin + 4; ++k) {
      scale[k] = ((word >> (16 * (k - begin))) & 0xffff) < dropped ? T{0} : kept;
    }
  }
}

template void FillDropout(uint64_t, int64_t, int64_t, DropoutLayer, double, absl::Span<float>);
template void FillDropout(uint64_t, int64_t, int64_t, DropoutLayer, double, absl::Span<double>);

}  // namespace rutile
