#include "lib/kge/training/scores/negative_samples.h"

#include <cmath>

#include "lib/base/random.h"
#include "lib/base/random_subset.h"

namespace rutile {

std::vector<int32_t> DrawNegatives(uint64_t seed, int64_t epoch, int64_t number, int64_t num_entities, int64_t count) {
  const std::vector<int64_t> drawn = RandomSubset(num_entities, count, RandomStream(seed, "negatives", epoch, number));
  return {drawn.begin(), drawn.end()};
}

double NegativeLogWeight(int64_t num_entities, int64_t count) {
  return std::log(static_cast<double>(num_entities) / static_cast<double>(count));
}

}  // namespace rutile
