// The options of a run, written down: those that decide its course in checkpoints, all of them in config.json.

#ifndef RUTILE_LIB_TRAIN_RESUME_CONFIG_H_
#define RUTILE_LIB_TRAIN_RESUME_CONFIG_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/settings.h"
#include "lib/task/resume_rule.h"
#include "lib/tensorfile/tensor_file.h"
#include "lib/train/options/trainer_options.h"

namespace rutile {

// Returns the options that decide the course of a run, the caller's and Task::ResumeConfig among them, as JSON, for
// checkpoints.
std::string ResumeConfigJson(const TrainerOptions& options, const std::map<std::string, std::string>& task = {});

// An option of the config that a run to resume had otherwise. "not set" is the default of what is written only where it
// is used.
struct ConfigChange {
  std::string name;    // "batch_size"; the task's as in Task::ResumeConfig
  std::string before;  // JSON; empty: `after` is a sentence that tells the change
  std::string after;
  bool of_task = false;
  const ResumeRule* rule = nullptr;  // the task's, if it has one for this option
  bool only_rates = false;           // of parameter_groups, learning rates alone differ
};

// The rows of all tables of settings of a run, those of ForEachSettings. Options of tasks have rows of their own.
absl::Span<const SettingInfo* const> ResumeSettings();

// What differs between `then` and `now`, both from ResumeConfigJson, perhaps of an older version: options have the
// names that they have today, and of groups of parameters only the options that differ are told. `rules` are those of
// the task that runs now (Task::ResumeRules); changes point to them. FAILED_PRECONDITION when one of them is no such
// text.
absl::StatusOr<std::vector<ConfigChange>> ConfigChanges(absl::string_view then, absl::string_view now,
                                                        absl::Span<const ResumeRule> rules = {});

// Whether a resumed run may have the option otherwise without being told twice, as its row says: learning_rate,
// min_learning_rate. (Limits, logs, files, threads and how a step is computed are not part of it.)
bool MayChange(absl::string_view option);
// Whether a resumed run may have this change without being told twice: also if groups differ in their rates alone.
bool MayChange(const ConfigChange& change);

// Tells all that may not change and is not among `overrides`, for a message; "" if there is nothing.
std::string ForbiddenChanges(absl::Span<const ConfigChange> changes, absl::Span<const std::string> overrides);
// FAILED_PRECONDITION naming all that may not change and is not among `overrides` ("all": everything is). An override
// may have the name that an option had in an older version.
absl::Status CheckChanges(absl::Span<const ConfigChange> changes, absl::Span<const std::string> overrides);
// INVALID_ARGUMENT for an override that is no option of either run, nor "data" or "all".
absl::Status CheckOverrides(absl::string_view then, absl::string_view now, absl::Span<const std::string> overrides);
// ConfigChanges, then CheckChanges without overrides.
absl::Status CheckSameConfig(absl::string_view then, absl::string_view now, absl::Span<const ResumeRule> rules = {});

// True if the config says that the run validated on a sample: by limit_val_batches, or by rank_sample, which callers
// record for triples.
bool SamplesValidation(absl::string_view config);

// Parts of a run's state that mean nothing once an option has changed, so that they begin anew.
struct ResetOnResume {
  bool epoch = false;      // its order, its batches or its loss: the epoch begins again
  bool loss = false;       // what an example's errors counted, and how many they were
  bool optimizer = false;  // its moments
  bool schedule = false;   // plateau's memory
  bool judgment = false;   // values are not comparable: the best model, early stopping, the best checkpoints
  bool ema = false;        // the average
  bool average_best = false;
  bool task = false;      // what the task remembers of examples and kernels
  bool finished = false;  // that nothing is left to do
};
ResetOnResume PartsToReset(absl::Span<const ConfigChange> changes);

// An option of a text from ResumeConfigJson that is a number. FAILED_PRECONDITION where there is none.
absl::StatusOr<double> NumberOfConfig(absl::string_view config, const std::string& option);

// A group of parameters as ResumeConfigJson records it: its glob, and its options that are numbers.
struct GroupOfConfig {
  std::string glob;
  std::map<std::string, double> numbers;
};
// Returns the groups of a text from ResumeConfigJson; none if the run had none. FAILED_PRECONDITION where the text does
// not say what they are.
absl::StatusOr<std::vector<GroupOfConfig>> GroupsOfConfig(absl::string_view config);

// The text of flags.txt. `text` begins with a comment that says that it makes the run again, which a run that went on
// with other settings (`changes`, as in checkpoints) replaces by what it did.
std::string FlagFileAfter(absl::string_view changes, const std::string& text);

// All options, the task's, and what the caller adds ("command", "inputs"...), as the text of config.json. log_columns
// (LogColumn): those whose units are written as "log_units", for the logs that do not name them.
// changes: as in checkpoints, for FlagFileAfter.
std::string ConfigJson(const TrainerOptions& options, const std::map<std::string, std::string>& task,
                       const Metadata& provenance, absl::Span<const std::string> log_columns = {},
                       absl::string_view changes = "");

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_RESUME_CONFIG_H_
