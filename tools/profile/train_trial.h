// Short runs of train, measured.

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

struct TrialResult {
  double examples_per_s = 0;  // of training, validation left out
  double spread = 0;          // relative: median deviation of epochs from their median
  int64_t steps = 0;
  double step_s = 0;            // of one, with its part of validation
  int64_t steps_per_epoch = 0;  // 0: not even one epoch
  double wall_s = 0;
  double overhead_s = 0;  // of wall_s: what is not training
  int64_t peak_rss_bytes = 0;
  std::map<std::string, std::string> settings;  // every flag in effect, from config.json
};

// What a step said.
struct StepRow {
  double step = 0, loss = 0, learning_rate = 0, time_s = 0;
};

class TrialRunner {
 public:
  // Of the command without what is about its outputs, its length and its validation. Errors: of making a directory.
  static absl::StatusOr<TrialRunner> Create(TrainCommand command);

  // About `seconds` of training with `flags` beside the command's. INVALID_ARGUMENT: train refuses, and its message
  // says why; CANCELLED: a signal came; RESOURCE_EXHAUSTED: it took more than memory_limit (0: none) or was killed;
  // INTERNAL: it failed otherwise.
  absl::StatusOr<TrialResult> Run(const TuneFlags& flags, double seconds, int64_t memory_limit = 0);

  // `steps` steps with every step logged. A loss that is not finite ends the run, and is no error.
  absl::StatusOr<std::vector<StepRow>> RunSteps(const TuneFlags& flags, int64_t steps, double max_seconds);

  const TrainCommand& command() const { return command_; }

 private:
  TrialRunner(TrainCommand command, ScratchDirectory scratch)
      : command_(std::move(command)), scratch_(std::move(scratch)) {}

  // The command with `flags`, that writes to `directory` and does nothing but train and log.
  TrainCommand CommandWith(const TuneFlags& flags, const std::string& directory, int64_t log_every) const;
  ChildOptions QuietChild() const;

  TrainCommand command_;
  ScratchDirectory scratch_;
  int64_t log_every_ = 1;         // steps
  double longest_start_s_ = 600;  // a trial that has no step after so long is stopped
};

}  // namespace rutile

#endif  // RUTILE_TOOLS_PROFILE_TRAIN_TRIAL_H_
