// Random numbers that depend only on what they are for: (seed, purpose, epoch, index), never on thread or call order.
//
// A stream for each purpose means that resuming needs no generator state, and that adding a use of random numbers does
// not change the others. The generator is xoshiro256++ (Blackman & Vigna, ACM Trans. Math. Softw. 47, 36 (2021)), its
// state filled by SplitMix64 from a hash of the key. Results are the same on every machine and library version.

#ifndef RUTILE_LIB_BASE_RANDOM_H_
#define RUTILE_LIB_BASE_RANDOM_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"

namespace rutile {

class RandomStream {
 public:
  RandomStream(uint64_t seed, absl::string_view purpose, uint64_t epoch = 0, uint64_t index = 0);

  uint64_t Next();
  // In [0, 1), all 53 bits used.
  double Uniform();
  double Uniform(double low, double high) { return low + (high - low) * Uniform(); }
  // In [0, n), without bias. n > 0.
  uint64_t Below(uint64_t n);
  // Mean 0, deviation 1 (Box-Muller).
  double Normal();

 private:
  uint64_t state_[4];
};

// 0 .. n-1 in random order (Fisher-Yates).
std::vector<int64_t> RandomPermutation(int64_t n, RandomStream stream);

}  // namespace rutile

#endif  // RUTILE_LIB_BASE_RANDOM_H_
