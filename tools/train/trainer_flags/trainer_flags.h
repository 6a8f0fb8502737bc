// The flags of the trainer, whatever the task.

#ifndef RUTILE_TOOLS_TRAIN_TRAINER_FLAGS_TRAINER_FLAGS_H_
#define RUTILE_TOOLS_TRAIN_TRAINER_FLAGS_TRAINER_FLAGS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "lib/optimizer/schedule/schedule.h"
#include "lib/train/options/trainer_options.h"

namespace rutile {

// What flags mean that leave their value open. It depends on the kind of the data and on --preset.
struct TrainerDefaults {
  int64_t batch_size = 32;
  double adam_learning_rate = 0.001;  // of adam and adamw
  // Constant all the same where the optimizer has no use for schedules, or where no number of epochs or steps ends the
  // run, over which the schedule would span.
  ScheduleKind schedule = ScheduleKind::kConstant;
};

// INVALID_ARGUMENT for a value out of range, and for a flag that has no effect beside the others.
absl::StatusOr<TrainerOptions> TrainerOptionsFromFlags(const TrainerDefaults& defaults = {});

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_TRAINER_FLAGS_TRAINER_FLAGS_H_
