// Random numbers that depend only on (seed, purpose, epoch, index), never on thread or call order.
//
// Because each purpose has a stream of its own, resuming needs no generator state, and a new use of random numbers does
// not change the others. The generator is xoshiro256++ (Blackman & Vigna, ACM Trans. Math. Softw. 47, 36 (2021)), its
// state filled by SplitMix64 from a hash of the key. Results are the same on every machine and library version.

#ifndef RUTILE_LIB_BASE_RANDOM_H_
#define RUTILE_LIB_BASE_RANDOM_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"

namespace rutile {

// A stream of random numbers for one purpose.
//
//   RandomStream stream(seed, "initial weights", epoch, index);
//   const double x = stream.Uniform(-1, 1);
class RandomStream {
 public:
  RandomStream(uint64_t seed, absl::string_view purpose, uint64_t epoch = 0, uint64_t index = 0);

  // Returns 64 random bits.
  uint64_t Next();
  // Returns a number in [0, 1), using all 53 bits.
  double Uniform();
  double Uniform(double low, double high) { return low + (high - low) * Uniform(); }
  // Returns an integer in [0, n) without bias; n > 0.
  uint64_t Below(uint64_t n);
  // Returns a normal deviate of mean 0 and standard deviation 1 (Box-Muller).
  double Normal();

 private:
  uint64_t state_[4];
};

// Returns 0 .. n-1 in random order (Fisher-Yates).
std::vector<int64_t> RandomPermutation(int64_t n, RandomStream stream);

}  // namespace rutile

#endif  // RUTILE_LIB_BASE_RANDOM_H_
