// Finds the largest batch that a run can meet, so that its memory can be allocated before the first step.

#ifndef RUTILE_LIB_POTENTIAL_TRAINING_LARGEST_BATCH_H_
#define RUTILE_LIB_POTENTIAL_TRAINING_LARGEST_BATCH_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lib/potential/model/task_options.h"

namespace rutile {

struct LargestBatch {
  int64_t structures = 0;
  int64_t atoms = 0;                   // of all species; at most the sum of species_atoms
  std::vector<int64_t> species_atoms;  // [species]; the maxima may come from different batches
};

// species_count: [S, species] atoms of each species in each structure. A batch holds options.batch_size structures, or
// all if there are fewer; with replacement each of them may be the largest one.
LargestBatch FindLargestBatch(absl::Span<const int32_t> species_count, int num_species, const CompileOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_TRAINING_LARGEST_BATCH_H_
