// Which flags of a run of train its trainings on subsets have in common with it.

#ifndef RUTILE_TOOLS_TRACIN_JUDGE_SUBSET_FLAGS_H_
#define RUTILE_TOOLS_TRACIN_JUDGE_SUBSET_FLAGS_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace rutile {

// Returns the lines of a run's flags.txt that a training on a subset shares with the run: without the directory, seed,
// limits that end each training elsewhere (early stopping, time, thresholds), several processes, checkpoints to keep
// and what is only shown. `resolved` are flags with the values that the run had, by name: they come first where
// flags.txt leaves them to train, which may choose otherwise in another version, on other data or without those limits.
std::string FlagsOfSubsetRuns(absl::string_view flags, const std::map<std::string, std::string>& resolved = {});

// Returns the flags without the lines of `resolved` that say what versions before these flags did where nothing was
// said:
// --potential=chebyshev, --max_epochs=1000, --kge_model=conve, --kge_recipe=plain and --lr_interval=epoch.
std::string WithoutFormerDefaults(absl::string_view flags, const std::map<std::string, std::string>& resolved);

// True for a flag whose value decides the model: none of those above, and none of the machine (device, caches).
bool DecidesModel(absl::string_view flag);

// INVALID_ARGUMENT with the changes if flags.txt (`flags`) says that it does not make the run again: the run was
// resumed with other settings or data, and trainings with these flags would not be like it. path: of the file.
absl::Status CheckMakesRunAgain(absl::string_view path, absl::string_view flags);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_JUDGE_SUBSET_FLAGS_H_
