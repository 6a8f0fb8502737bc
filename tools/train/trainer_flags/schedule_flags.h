// The flags of the learning rate's schedule.

#ifndef RUTILE_TOOLS_TRAIN_TRAINER_FLAGS_SCHEDULE_FLAGS_H_
#define RUTILE_TOOLS_TRAIN_TRAINER_FLAGS_SCHEDULE_FLAGS_H_

#include "absl/status/statusor.h"
#include "lib/optimizer/schedule/schedule.h"

namespace rutile {

// open: what --lr_scheduler=auto means. INVALID_ARGUMENT for a value out of range, and for a flag that the chosen
// schedule does not use.
absl::StatusOr<ScheduleOptions> ScheduleOptionsFromFlags(ScheduleKind open = ScheduleKind::kConstant);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_TRAINER_FLAGS_SCHEDULE_FLAGS_H_
