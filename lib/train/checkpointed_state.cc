#include "lib/train/checkpointed_state.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/train/resume_config.h"

namespace rutile {
namespace {

// Keeps the rate that plateau has reached, which does not depend on how losses are measured. The best loss, the count
// of bad ones and the cool-down are those of a schedule that has seen nothing: losses from here on are others.
absl::Status RestoreRateAlone(const NamedTensors& then, Schedule* schedule) {
  const double unseen_best = schedule->State().At("plateau").ToDoubles()[1];
  RETURN_IF_ERROR(schedule->SetState(then));
  NamedTensors state;
  state.Set("plateau", Tensor::Of<double>({then.At("plateau").ToDoubles()[0], unseen_best, 0, 0}, {4}));
  return schedule->SetState(state);
}

}  // namespace

absl::Status RestoreStates(const CheckpointedState& parts, const StartingState& start, const Checkpoint& state) {
  // The task may still hold the state of another run or of the first-batch check.
  if (start.path.empty()) return parts.task.SetState(NamedTensors());
  const auto check = [&start](absl::string_view part, const absl::Status& status) {
    return status.ok() ? status
                       : absl::InvalidArgumentError(absl::StrCat(start.path, ": ", part, ": ", status.message()));
  };
  const ResetOnResume& anew = start.new_parts;
  if (!anew.optimizer) RETURN_IF_ERROR(check("optimizer", parts.epoch.SetState(state.optimizer)));
  if (anew.finished) parts.epoch.Reopen();
  if (!anew.schedule) {
    RETURN_IF_ERROR(check("schedule", anew.judgment ? RestoreRateAlone(state.schedule, &parts.schedule)
                                                    : parts.schedule.SetState(state.schedule)));
  }
  if (!anew.judgment) RETURN_IF_ERROR(check("stopping", parts.stop.SetState(state.stopping)));
  if (parts.ema != nullptr && !anew.ema) {
    const bool begun = state.ema_parameters.num_elements() > 0;
    RETURN_IF_ERROR(check("ema", parts.ema->SetState(state.ema, begun ? &state.ema_parameters : nullptr)));
  }
  if (parts.average_best != nullptr && !anew.average_best && !anew.judgment) {
    RETURN_IF_ERROR(check("average_best", parts.average_best->SetState(state.average_best)));
  }
  // The checkpoint has no such state if the option to keep the best was added on resume.
  if (!state.top.empty()) RETURN_IF_ERROR(check("top_checkpoints", parts.top_checkpoints.SetState(state.top)));
  return check("task", parts.task.SetState(anew.task ? NamedTensors() : state.task));
}

void SaveStates(const CheckpointedState& parts, Checkpoint* state) {
  state->optimizer = parts.epoch.State();
  state->schedule = parts.schedule.State();
  state->stopping = parts.stop.State();
  if (parts.ema != nullptr) {
    state->ema = parts.ema->State();
    if (parts.ema->parameters() != nullptr) state->ema_parameters = *parts.ema->parameters();
  }
  if (parts.average_best != nullptr) state->average_best = parts.average_best->State();
  if (parts.keeps_top) state->top = parts.top_checkpoints.State();
  state->task = parts.task.State();
}

}  // namespace rutile
