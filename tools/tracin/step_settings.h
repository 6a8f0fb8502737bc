// The settings of a run of potentials that decide its steps, as its checkpoints record them.

#ifndef RUTILE_TOOLS_TRACIN_STEP_SETTINGS_H_
#define RUTILE_TOOLS_TRACIN_STEP_SETTINGS_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/optimizer/averages/ema.h"
#include "lib/optimizer/schedule/schedule.h"
#include "lib/optimizer/step_adjoint.h"
#include "lib/train/files/checkpoint_series.h"

namespace rutile {

struct StepSettings {
  int64_t batch_size = 1, accumulate_grad_batches = 1;
  bool shuffle = true;
  double learning_rate = 0;
  UnrolledUpdate update;  // without what differs from step to step: UpdateOfStep
  double weight_decay = 0, dampening = 0;
  bool decoupled = false;  // adamw: the decay is by the rate
  GradientClipping clipping;
  ScheduleOptions schedule;
  std::optional<EmaOptions> ema;
  int64_t max_epochs = -1, max_steps = -1;  // known where the average's decay follows the length of the run
};

// Reads them. INVALID_ARGUMENT naming the checkpoint and a setting that changes steps in a way that is not unrolled, or
// that cannot be read.
absl::StatusOr<StepSettings> ReadStepSettings(const CheckpointSummary& checkpoint);

// Returns the update of the optimizer's step `count`, from 1, at this rate.
UnrolledUpdate UpdateOfStep(const StepSettings& settings, double rate, int64_t count);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_STEP_SETTINGS_H_
