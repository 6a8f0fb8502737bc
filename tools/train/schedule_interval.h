// --lr_interval=auto: whether the schedule of a run counts epochs or steps.

#ifndef RUTILE_TOOLS_TRAIN_SCHEDULE_INTERVAL_H_
#define RUTILE_TOOLS_TRAIN_SCHEDULE_INTERVAL_H_

#include <cstdint>
#include <string>

#include "lib/train/options/split.h"
#include "lib/train/options/trainer_options.h"

namespace rutile {

// A schedule over so few epochs counts steps, since by epochs its rate hardly falls: a cosine over one epoch is
// constant, and over two it ends at half of the rate. From three epochs on, runs by epochs end as low or lower.
inline constexpr int64_t kMostEpochsBySteps = 2;
// In fewer steps a potential learns so little that a rate that stays high learns more.
inline constexpr int64_t kLeastSteps = 100;

// Sets options->schedule.per_step where the schedule spans the run and --lr_interval leaves it open: true in a run of
// kMostEpochsBySteps epochs at most, by --max_epochs or --max_steps, and of kLeastSteps steps at least. A run in
// `directory` that goes on counts in what it did, whatever its length is by now.
void SetScheduleInterval(const std::string& directory, const Split& split, TrainerOptions* options);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_SCHEDULE_INTERVAL_H_
