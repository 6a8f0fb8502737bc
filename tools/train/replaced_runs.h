// Runs in an output directory that are not those to be trained: of one model where a committee comes, and members where
// one model or a smaller committee comes. Whoever then names best.safetensors or member-*/best.safetensors would take
// models of another run.

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

// Directories of such runs, for `committee` models to train (1: no committee), which kOverwrite replaces.
// INVALID_ARGUMENT naming the first with any other mode, and where one cannot be removed (RunDirectory::CheckUsable).
absl::StatusOr<std::vector<std::string>> OtherRuns(const std::string& output_dir, int committee, RunMode mode);

// Removes what train wrote there and no other file, then the directories that are empty. `kept`: files that the command
// names. FAILED_PRECONDITION when another process trains there.
absl::Status RemoveOtherRun(const std::string& directory, const std::vector<std::string>& kept);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_REPLACED_RUNS_H_
