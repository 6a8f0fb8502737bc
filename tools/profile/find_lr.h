// Implements profile --find_lr -- train ...: a learning-rate range test.

#ifndef RUTILE_TOOLS_PROFILE_FIND_LR_H_
#define RUTILE_TOOLS_PROFILE_FIND_LR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace rutile {

struct FindLrOptions {
  double min_lr = 1e-8, max_lr = 1;
  int64_t steps = 100;
  double max_seconds = 120;
  std::string output_dir;  // for learning-rate.svg and learning-rate.tsv; empty: none
  bool tsv = false;        // print the curve to standard output
};

// Returns INVALID_ARGUMENT naming flag, value and range of an option that is out of range.
absl::Status CheckFindLrOptions(const FindLrOptions& options);

// Runs the test and prints its suggestion.
absl::Status FindLr(const std::vector<std::string>& command, const FindLrOptions& options);

}  // namespace rutile

#endif  // RUTILE_TOOLS_PROFILE_FIND_LR_H_
