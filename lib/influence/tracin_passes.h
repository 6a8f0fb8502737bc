// Divides a computation of influence to fit in memory: passes of tests, turns of checkpoints, blocks and tiles of
// training examples.

#ifndef RUTILE_LIB_INFLUENCE_TRACIN_PASSES_H_
#define RUTILE_LIB_INFLUENCE_TRACIN_PASSES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/influence/tracin_options.h"
#include "lib/task/gradient_products.h"

namespace rutile {

// The sizes of these units of work.
struct TracInPasses {
  int64_t tile_size = 1;       // training examples whose products are computed at once
  int64_t tests_per_pass = 1;  // tests that are set at once; at least 1, also without tests
  int64_t at_once = 1;         // checkpoints in memory; if not all, they take turns
  int64_t block_size = 1;      // training examples of a turn, whole tiles
};

// Chooses the sizes. checkpoints: those with a rate above 0, at least one. num_tests: 0 without tests, 1 for a weighted
// sum. INVALID_ARGUMENT if one test takes more than options.memory_limit.
absl::StatusOr<TracInPasses> ChoosePasses(absl::Span<const GradientProducts* const> checkpoints, int64_t num_train,
                                          int64_t num_tests, const TracInOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_INFLUENCE_TRACIN_PASSES_H_
