// What a run works with, worked out from its options, the split and the number of its batches.

#ifndef RUTILE_LIB_TRAIN_RUN_PLAN_H_
#define RUTILE_LIB_TRAIN_RUN_PLAN_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/train/options/split.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/step/data_loader.h"

namespace rutile {

struct RunPlan {
  // With schedules that span the run resolved.
  TrainerOptions options;
  // To overfit, the same few batches train and validate.
  std::vector<int64_t> train;
  std::vector<int64_t> validation;  // as limited
  int64_t num_batches = 0;          // of an epoch, as limited
  int64_t steps_per_epoch = 0;
  int64_t run_steps = -1;  // of the whole run, by its limits on epochs and steps; -1: they are not set

  // Of the optimizer, over so many first batches of an epoch: after accumulation; 1 of L-BFGS.
  int64_t StepsOf(int64_t batches) const;
};

// What a run trains on, validates on and keeps for the test: the split or, with overfit_batches, the first batches of
// its training set as both. INVALID_ARGUMENT where these are more than there are.
absl::StatusOr<Split> UsedSplit(const Split& split, const TrainerOptions& options);

// options have passed CheckTrainerOptions. INVALID_ARGUMENT where there is no example to train on, where something
// spans the run, whose length is not known, or would begin or last beyond its end, where the lowest rate is above the
// rate, and where validation is asked for without a set.
absl::StatusOr<RunPlan> MakeRunPlan(const Split& split, const TrainerOptions& options);

// In order, in batches that need not be those of training.
DataLoaderOptions ValidationLoaderOptions(const TrainerOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_RUN_PLAN_H_
