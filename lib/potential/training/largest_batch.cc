#include "lib/potential/training/largest_batch.h"

#include <algorithm>
#include <functional>

namespace rutile {
namespace {

// Returns the sum of the n largest values or, with replacement, n times the largest.
int64_t Largest(std::vector<int64_t> values, int64_t n, bool with_replacement) {
  if (n == 0) return 0;
  std::nth_element(values.begin(), values.begin() + (n - 1), values.end(), std::greater<int64_t>());
  if (with_replacement) return n * *std::max_element(values.begin(), values.begin() + n);
  int64_t sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += values[i];
  return sum;
}

}  // namespace

LargestBatch FindLargestBatch(absl::Span<const int32_t> species_count, int num_species, const CompileOptions& options) {
  const int64_t num_structures = static_cast<int64_t>(species_count.size()) / num_species;
  LargestBatch batch;
  batch.structures = std::min(options.batch_size, num_structures);
  std::vector<int64_t> total(num_structures, 0), of_species(num_structures);
  for (int i = 0; i < num_species; ++i) {
    for (int64_t s = 0; s < num_structures; ++s) {
      of_species[s] = species_count[s * num_species + i];
      total[s] += of_species[s];
    }
    batch.species_atoms.push_back(Largest(of_species, batch.structures, options.with_replacement));
  }
  batch.atoms = Largest(total, batch.structures, options.with_replacement);
  return batch;
}

}  // namespace rutile
