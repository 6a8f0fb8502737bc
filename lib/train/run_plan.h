// The plan of a run: batches, steps and schedules that follow from its options and its split.

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
  // The options of the run, with schedules that span the run resolved to steps or epochs.
  TrainerOptions options;
  // The examples to train on. With overfit_batches they equal the validation examples.
  std::vector<int64_t> train;
  std::vector<int64_t> validation;  // after limit_val_batches
  // The whole validation set, of which the split has a sample or limit_val_batches takes one; otherwise empty.
  std::vector<int64_t> whole_validation;
  // With limit_val_batches: the split's validation examples, and as many as it takes from their beginning, on which
  // older versions validated. Otherwise empty.
  std::vector<int64_t> unlimited_validation, first_validation;
  int64_t num_batches = 0;  // batches of an epoch, after limit_train_batches
  int64_t steps_per_epoch = 0;
  int64_t run_steps = -1;  // steps of the whole run, by its limits on epochs and steps; -1: neither is set

  // Returns the optimizer steps that the first `batches` batches of an epoch make: accumulation joins batches into one
  // step, and L-BFGS always makes one.
  int64_t StepsOf(int64_t batches) const;
};

// Returns the examples that a run trains on, validates on and keeps for the test: `split` itself or, with
// overfit_batches, the first batches of its training set for both. INVALID_ARGUMENT if these exceed the training set.
absl::StatusOr<Split> UsedSplit(const Split& split, const TrainerOptions& options);

// Returns UsedSplit without the training examples that are left out (TrainerOptions::left_out): what is learned from.
absl::StatusOr<Split> LearnedSplit(const Split& split, const TrainerOptions& options);

// Works out the plan. `options` must have passed CheckTrainerOptions. INVALID_ARGUMENT if there is no example to train
// on or all are left out, if a schedule spans the run but its length is unknown, if a schedule begins or ends beyond
// the end of the run, if the lowest learning rate is above the learning rate, or if validation is requested without a
// validation set.
absl::StatusOr<RunPlan> MakeRunPlan(const Split& split, const TrainerOptions& options);

// Options of the loader of validation batches: in order, and of a batch size that may differ from training's.
DataLoaderOptions ValidationLoaderOptions(const TrainerOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_RUN_PLAN_H_
