// Implements profile --tune -- train ...: measures the choices of the performance guide on the user's data.

#ifndef RUTILE_TOOLS_PROFILE_TUNE_H_
#define RUTILE_TOOLS_PROFILE_TUNE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/profile/tune_choices.h"

namespace rutile {

struct TuneModeOptions {
  double budget_s = 120;
  Effect allow = Effect::kSame;  // what the recommended flags may change in the results
  std::string flagfile;          // file to write them to; empty: none
  bool tsv = false;              // print the table alone
};

// Parses "same", "course" or "accuracy". INVALID_ARGUMENT naming --allow.
absl::StatusOr<Effect> ParseEffect(const std::string& text);

// Tries the choices and prints the table and the recommendation, also if a signal ends it (then CANCELLED).
absl::Status Tune(const std::vector<std::string>& command, const TuneModeOptions& options);

}  // namespace rutile

#endif  // RUTILE_TOOLS_PROFILE_TUNE_H_
