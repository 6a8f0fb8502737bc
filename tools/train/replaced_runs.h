// Finds and removes other runs in an output directory: the run of one model when a committee is to be trained, and
// members when one model or a smaller committee is. If they stayed, best.safetensors or member-*/best.safetensors would
// include models of another run.

#ifndef RUTILE_TOOLS_TRAIN_REPLACED_RUNS_H_
#define RUTILE_TOOLS_TRAIN_REPLACED_RUNS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/train/files/run_directory.h"

namespace rutile {

constexpr int kMostMembers = 100;

std::string MemberName(int member);  // "member-07"

// Returns the directories of such runs, for `committee` models to train (1: no committee), which kOverwrite replaces.
// INVALID_ARGUMENT naming the first one in any other mode, or one that cannot be removed (RunDirectory::CheckUsable).
absl::StatusOr<std::vector<std::string>> OtherRuns(const std::string& output_dir, int committee, RunMode mode);

// Removes the files that train wrote there and no others, then the directories that are empty. `kept`: files that the
// command names. FAILED_PRECONDITION if another process trains there.
absl::Status RemoveOtherRun(const std::string& directory, const std::vector<std::string>& kept);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_REPLACED_RUNS_H_
