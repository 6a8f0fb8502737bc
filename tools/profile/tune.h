// profile --tune -- train ...: what the performance guide recommends, measured on the user's data.

#ifndef RUTILE_TOOLS_PROFILE_TUNE_H_
#define RUTILE_TOOLS_PROFILE_TUNE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/profile/tune_choices.h"

namespace rutile {

struct TuneModeOptions {
  double budget_s = 120;
  Effect allow = Effect::kSame;  // what the recommended flags may do to what is learned
  std::string flagfile;          // where they are written; empty: nowhere
  bool tsv = false;              // the table alone
};

// "same", "course", "accuracy". INVALID_ARGUMENT naming --allow.
absl::StatusOr<Effect> ParseEffect(const std::string& text);

// Prints the table and the recommendation, also when a signal ends it (then CANCELLED).
absl::Status Tune(const std::vector<std::string>& command, const TuneModeOptions& options);

}  // namespace rutile

#endif  // RUTILE_TOOLS_PROFILE_TUNE_H_
