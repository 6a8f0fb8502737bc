// The largest batch that a run can meet: what memory is taken for before its first step.

#ifndef RUTILE_LIB_POTENTIAL_TRAINING_LARGEST_BATCH_H_
#define RUTILE_LIB_POTENTIAL_TRAINING_LARGEST_BATCH_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lib/potential/model/task_options.h"

namespace rutile {

struct LargestBatch {
  int64_t structures = 0;
  int64_t atoms = 0;                   // of all species: at most the sum of those below
  std::vector<int64_t> species_atoms;  // [species]; of different batches, perhaps
};

// species_count: [S, species] atoms of each species in each structure. As many structures as options.batch_size, or all
// there are; with replacement each may be the largest one.
LargestBatch FindLargestBatch(absl::Span<const int32_t> species_count, int num_species, const CompileOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_TRAINING_LARGEST_BATCH_H_
