// Which flags of a run of train its trainings on subsets have in common with it.

#ifndef RUTILE_TOOLS_TRACIN_JUDGE_SUBSET_FLAGS_H_
#define RUTILE_TOOLS_TRACIN_JUDGE_SUBSET_FLAGS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace rutile {

// Returns the lines of a run's flags.txt that a training on a subset shares with the run: without the directory, seed,
// limits that end each training elsewhere (early stopping, time, thresholds), several processes, checkpoints to keep
// and what is only shown.
std::string FlagsOfSubsetRuns(absl::string_view flags);

// True for a flag whose value decides the model: none of those above, and none of the machine (device, caches).
bool DecidesModel(absl::string_view flag);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_JUDGE_SUBSET_FLAGS_H_
