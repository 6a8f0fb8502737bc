#include "lib/neighbor/radix_sort.h"

#include <algorithm>
#include <array>
#include <utility>

namespace rutile {
namespace {

constexpr int kDigitBits = 8;
constexpr int kDigits = 1 << kDigitBits;

}  // namespace

void RadixSort(int bits, int64_t n, std::vector<uint64_t>* keys, std::vector<uint64_t>* scratch) {
  if (static_cast<int64_t>(scratch->size()) < n) scratch->resize(keys->size());
  for (int low = 0; low < bits; low += kDigitBits) {
    std::array<uint32_t, kDigits> place = {};
    const auto digit = [low](uint64_t key) { return (key >> low) & (kDigits - 1); };
    for (int64_t k = 0; k < n; ++k) ++place[digit((*keys)[k])];
    uint32_t sum = 0;
    for (uint32_t& p : place) {
      const uint32_t count = p;
      p = sum;
      sum += count;
    }
    for (int64_t k = 0; k < n; ++k) (*scratch)[place[digit((*keys)[k])]++] = (*keys)[k];
    std::swap(*keys, *scratch);
  }
}

}  // namespace rutile
