// What tells a run from others: kept in --judge=DIR, whose trainings count for no other run.

#ifndef RUTILE_TOOLS_TRACIN_JUDGE_RUN_IDENTITY_H_
#define RUTILE_TOOLS_TRACIN_JUDGE_RUN_IDENTITY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace rutile {

// Returns the content of run.txt for the run in `directory`: its seed, its number of steps, the hash of its data (if
// its last checkpoint is there) and that of its last model, as "name=value", a line each.
absl::StatusOr<std::string> IdentityOfRun(const std::string& directory);

// Writes `text` to `path`, or compares it with what is there. INVALID_ARGUMENT naming the first line that differs, and
// `what` differs: "trainings of another run".
absl::Status WriteOrCompare(const std::string& path, const std::string& text, const std::string& what);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_JUDGE_RUN_IDENTITY_H_
