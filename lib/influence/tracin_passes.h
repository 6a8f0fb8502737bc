// How a computation of influence is cut to fit in memory: passes of tests, turns of checkpoints, blocks and tiles of
// training examples.

#ifndef RUTILE_LIB_INFLUENCE_TRACIN_PASSES_H_
#define RUTILE_LIB_INFLUENCE_TRACIN_PASSES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/influence/tracin_options.h"
#include "lib/task/gradient_products.h"

namespace rutile {

struct TracInPasses {
  int64_t tile_size = 1;       // training examples whose products are made at once
  int64_t tests_per_pass = 1;  // that are held at once; at least 1, whatever there is
  int64_t at_once = 1;         // checkpoints in memory: all of them, or they take turns
  int64_t block_size = 1;      // training examples that each turn goes through, in whole tiles
};

// checkpoints: those that count, at least one. num_tests: 0 without tests, 1 of a weighted sum. INVALID_ARGUMENT: what
// one test takes is beyond options.memory_limit.
absl::StatusOr<TracInPasses> ChoosePasses(absl::Span<const GradientProducts* const> checkpoints, int64_t num_train,
                                          int64_t num_tests, const TracInOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_INFLUENCE_TRACIN_PASSES_H_
