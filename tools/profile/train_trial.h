// Runs train for a short time and measures it.

#ifndef RUTILE_TOOLS_PROFILE_TRAIN_TRIAL_H_
#define RUTILE_TOOLS_PROFILE_TRAIN_TRIAL_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/profile/child_process.h"
#include "tools/profile/scratch_directory.h"
#include "tools/profile/search/tune_search.h"
#include "tools/profile/train_command.h"

namespace rutile {

// The measurements of a trial.
struct TrialResult {
  double examples_per_s = 0;  // examples of training, without validation
  double spread = 0;          // relative median deviation of epochs from their median
  int64_t steps = 0;
  double step_s = 0;            // time of a step, with its part of validation
  int64_t steps_per_epoch = 0;  // 0: not even one epoch
  double wall_s = 0;
  double overhead_s = 0;  // part of wall_s that is not training
  int64_t peak_rss_bytes = 0;
  std::map<std::string, std::string> settings;  // every flag in effect, from config.json
};

// A row of the log of steps.
struct StepRow {
  double step = 0, loss = 0, learning_rate = 0, time_s = 0;
};

// Runs trials of one command.
class TrialRunner {
 public:
  // Makes a runner of the command without its flags for outputs, length and validation. Errors are those of making a
  // directory.
  static absl::StatusOr<TrialRunner> Create(TrainCommand command);

  // Trains for about `seconds` with `flags` added to the command's. INVALID_ARGUMENT: train refuses, and its message
  // says why; CANCELLED: a signal came; RESOURCE_EXHAUSTED: it took more than memory_limit (0: none) or was killed;
  // INTERNAL: it failed otherwise.
  absl::StatusOr<TrialResult> Run(const TuneFlags& flags, double seconds, int64_t memory_limit = 0);

  // Trains for `steps` steps and logs each. A loss that is not finite ends the run, and is no error.
  absl::StatusOr<std::vector<StepRow>> RunSteps(const TuneFlags& flags, int64_t steps, double max_seconds);

  // The settings in effect of the last RunSteps that train did not refuse, by flag, as its config.json has them.
  std::map<std::string, std::string> SettingsOfSteps() const;

  const TrainCommand& command() const { return command_; }

 private:
  TrialRunner(TrainCommand command, ScratchDirectory scratch)
      : command_(std::move(command)), scratch_(std::move(scratch)) {}

  // Run and RunSteps for a run that has a validation set or not, as far as is known.
  absl::StatusOr<TrialResult> TryRun(const TuneFlags& flags, double seconds, int64_t memory_limit);
  absl::StatusOr<std::vector<StepRow>> TrySteps(const TuneFlags& flags, int64_t steps, double max_seconds);
  // True if train refused a trial only because it has no validation set: then there is none in further trials.
  bool HasNoValidation(const absl::Status& refused);

  // Returns the command with `flags`, which writes to `directory` and only trains and logs.
  TrainCommand CommandWith(const TuneFlags& flags, const std::string& directory, int64_t log_every) const;
  ChildOptions QuietChild() const;

  TrainCommand command_;
  ScratchDirectory scratch_;
  bool has_validation_ = true;    // until train says otherwise
  int64_t log_every_ = 1;         // steps
  double longest_start_s_ = 600;  // a trial without a step after this time is stopped
};

}  // namespace rutile

#endif  // RUTILE_TOOLS_PROFILE_TRAIN_TRIAL_H_
