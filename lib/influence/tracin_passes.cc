#include "lib/influence/tracin_passes.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace rutile {
namespace {

// If checkpoints take turns, a block has this many training examples for each test, so that preparing the tests anew
// for each block takes little time beside it.
constexpr int64_t kExamplesPerTest = 4;

// Returns the most bytes that a test takes at the checkpoints of a turn: its data there and its products with a tile.
int64_t BytesPerTest(absl::Span<const GradientProducts* const> checkpoints, const TracInPasses& passes,
                     int64_t num_train, int64_t parts) {
  const int64_t product_bytes = 8 * parts * std::min(passes.tile_size, num_train);
  int64_t most = 0;
  for (size_t first = 0; first < checkpoints.size(); first += passes.at_once) {
    int64_t bytes = 0;
    for (const GradientProducts* const products : checkpoints.subspan(first, passes.at_once)) {
      bytes += products->bytes_per_test() + product_bytes;
    }
    most = std::max(most, bytes);
  }
  return most;
}

}  // namespace

absl::StatusOr<TracInPasses> ChoosePasses(absl::Span<const GradientProducts* const> checkpoints, int64_t num_train,
                                          int64_t num_tests, const TracInOptions& options) {
  TracInPasses passes;
  const int64_t size = static_cast<int64_t>(checkpoints.size());
  passes.at_once = options.checkpoints_at_once == 0 ? size : std::min(size, options.checkpoints_at_once);
  for (const GradientProducts* const products : checkpoints) {
    passes.tile_size = std::max(passes.tile_size, products->tile_size());
  }
  passes.tests_per_pass = std::max<int64_t>(1, num_tests);
  const int64_t tiles = std::max<int64_t>(1, (num_train + passes.tile_size - 1) / passes.tile_size);
  passes.block_size = tiles * passes.tile_size;
  if (options.memory_limit == 0) return passes;

  const bool in_turns = passes.at_once < size;
  const int64_t parts = std::max<int64_t>(1, options.parts.size());
  const int64_t half = options.memory_limit / 2;
  const int64_t pair_bytes = 8 * (options.part_scores ? 1 + parts : 1);  // sums of a pair, while checkpoints take turns
  if (num_tests > 0 && options.test_weight.empty()) {
    const int64_t bytes = BytesPerTest(checkpoints, passes, num_train, parts);
    if (bytes > options.memory_limit) {
      return absl::InvalidArgumentError(absl::StrCat("memory_limit: ", options.memory_limit,
                                                     " bytes, but one test takes ", bytes, " at ", passes.at_once,
                                                     " checkpoints"));
    }
    int64_t most = (in_turns ? half : options.memory_limit) / bytes;
    if (in_turns && options.scores) {
      most =
          std::min(most, static_cast<int64_t>(std::sqrt(static_cast<double>(half / (kExamplesPerTest * pair_bytes)))));
    }
    passes.tests_per_pass = std::clamp<int64_t>(most, 1, passes.tests_per_pass);
  }
  if (options.scores) {
    const int64_t rows = half / (pair_bytes * passes.tests_per_pass);
    passes.block_size = std::clamp<int64_t>(rows / passes.tile_size, 1, tiles) * passes.tile_size;
  }
  return passes;
}

}  // namespace rutile
