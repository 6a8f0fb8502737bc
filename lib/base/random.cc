#include "lib/base/random.h"

#include <cmath>
#include <numeric>
#include <utility>

#include "lib/base/logging.h"

namespace rutile {
namespace {

uint64_t SplitMix(uint64_t* state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

uint64_t RotateLeft(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

}  // namespace

RandomStream::RandomStream(uint64_t seed, absl::string_view purpose, uint64_t epoch, uint64_t index) {
  uint64_t key = seed;
  auto mix = [&key](uint64_t value) {
    uint64_t state = key ^ value;
    key = SplitMix(&state) + RotateLeft(key, 29);
  };
  mix(purpose.size());
  for (const char c : purpose) mix(static_cast<unsigned char>(c));
  mix(epoch);
  mix(index);
  for (uint64_t& word : state_) word = SplitMix(&key);
}

uint64_t RandomStream::Next() {
  const uint64_t result = RotateLeft(state_[0] + state_[3], 23) + state_[0];
  const uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = RotateLeft(state_[3], 45);
  return result;
}

double RandomStream::Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

uint64_t RandomStream::Below(uint64_t n) {
  CHECK_GT(n, 0u);
  const uint64_t limit = UINT64_MAX - UINT64_MAX % n;  // values at or above it would favor small results
  uint64_t value;
  do value = Next();
  while (value >= limit);
  return value % n;
}

double RandomStream::Normal() {
  const double radius = std::sqrt(-2 * std::log(1 - Uniform()));
  return radius * std::cos(2 * M_PI * Uniform());
}

std::vector<int64_t> RandomPermutation(int64_t n, RandomStream stream) {
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), int64_t{0});
  for (int64_t i = n - 1; i > 0; --i) std::swap(order[i], order[stream.Below(i + 1)]);
  return order;
}

}  // namespace rutile
