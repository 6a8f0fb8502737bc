#include "tools/train/flags/default_epochs.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tools/common/run/given_flags.h"

DECLARE_int32(fast_dev_run);

namespace rutile {
namespace {

// The record of a run's max_epochs, which a run that goes on has where no flag gives another. Resuming does not compare
// it (lib/train/resume_config.cc).
constexpr char kDefaultEpochs[] = "default_epochs";

bool RecordedEpochs(const CheckpointSummary& checkpoint, int64_t* epochs) {
  const auto recorded = checkpoint.task.find(kDefaultEpochs);
  return recorded != checkpoint.task.end() && absl::SimpleAtoi(recorded->second, epochs);
}

// As of a run whose flags set no end: the default schedule spans a run and this one has no length.
void SetOpenScheduleConstant(TrainerOptions* options) {
  if (FlagGiven("lr_scheduler")) return;
  options->schedule.kind = ScheduleKind::kConstant;
  std::vector<std::string>& overrides = options->overrides;
  overrides.erase(std::remove(overrides.begin(), overrides.end(), "lr_period"), overrides.end());
}

}  // namespace

void SetDefaultEpochs(int64_t epochs, const std::optional<CheckpointSummary>& resumed, TrainerOptions* options) {
  StopOptions& stop = options->stop;
  if (!FlagGiven("max_epochs")) {
    int64_t recorded = 0;
    if (!resumed.has_value()) {
      // Time limits a session and minima hold back early stopping: a run has its length beside them.
      if (stop.max_steps <= 0 && FLAGS_fast_dev_run == 0) stop.max_epochs = epochs;
    } else if (RecordedEpochs(*resumed, &recorded)) {
      stop.max_epochs = recorded;
      if (recorded < 0 && stop.max_steps < 0) SetOpenScheduleConstant(options);
    }
  }
  options->config[kDefaultEpochs] = absl::StrCat(stop.max_epochs);
}

}  // namespace rutile
