#include "lib/train/run_plan.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/base/random.h"
#include "lib/base/random_subset.h"
#include "lib/base/status_macros.h"
#include "lib/optimizer/averages/ema.h"
#include "lib/optimizer/optimizer.h"
#include "lib/optimizer/schedule/schedule.h"
#include "lib/train/files/run_directory.h"
#include "lib/train/options/batch_limit.h"
#include "lib/train/step/epoch_trainer.h"

namespace rutile {
namespace {

int64_t DivideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Returns the examples of the first batches of an epoch, at the batch size of training.
std::vector<int64_t> FirstBatches(const std::vector<int64_t>& examples, const BatchLimit& limit, int64_t batch_size) {
  const auto size = static_cast<int64_t>(examples.size());
  const int64_t batches = LimitBatches(limit, DivideUp(size, batch_size));
  return {examples.begin(), examples.begin() + std::min(size, batches * batch_size)};
}

// Returns `count` examples, drawn from all and in their order: the first ones would be alike, as queries come in the
// order of their keys and structures in that of their files. The draw depends on numbers of examples alone, so that
// runs of any seed, members of a committee, and a run that goes on are judged by the same.
std::vector<int64_t> Sample(const std::vector<int64_t>& examples, int64_t count) {
  std::vector<int64_t> sample;
  const RandomStream stream(0, "limit_val_batches");
  for (const int64_t i : RandomSubset(static_cast<int64_t>(examples.size()), count, stream)) {
    sample.push_back(examples[i]);
  }
  return sample;
}

int64_t RunSteps(const StopOptions& stop, int64_t steps_per_epoch) {
  const int64_t by_epochs = stop.max_epochs > 0 ? stop.max_epochs * steps_per_epoch : -1;
  if (by_epochs < 0 || stop.max_steps < 0) return std::max(by_epochs, stop.max_steps);
  return std::min(by_epochs, stop.max_steps);
}

// Checks that options that need a validation set have one.
absl::Status CheckValidation(const RunPlan& plan) {
  if (!plan.validation.empty()) return absl::OkStatus();
  const ValidationOptions& options = plan.options.validation;
  if (options.every_epochs == 1 && options.fraction == 1 && options.every_steps == 0 &&
      options.every_time == absl::InfiniteDuration() && plan.options.limit_val_batches.all()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "check_val_every_n_epoch, val_check_interval and limit_val_batches have no effect without a validation set");
}

// Refuses schedules and averages that the run would never reach, and a minimum rate above the learning rate.
absl::Status CheckSchedule(const RunPlan& plan) {
  const ScheduleOptions& schedule = plan.options.schedule;
  const double rate = plan.options.optimizer.learning_rate;
  if (schedule.min_learning_rate > rate) {
    return absl::InvalidArgumentError(absl::StrCat("min_learning_rate is ", schedule.min_learning_rate,
                                                   ", expected no more than the learning_rate of ", rate));
  }
  // Runs trained in sessions (resumable modes) and trials (which write no files) may be shorter than their schedules.
  const RunMode mode = plan.options.mode;
  const bool is_part = mode == RunMode::kResume || mode == RunMode::kResumeOrNew;
  if (plan.run_steps < 0 || is_part || plan.options.files == RunFiles::kNone) return absl::OkStatus();
  if (schedule.warmup_steps > plan.run_steps) {
    return absl::InvalidArgumentError(absl::StrCat("lr schedule: the warm-up takes ", schedule.warmup_steps,
                                                   " steps, expected no more than the ", plan.run_steps,
                                                   " of the run"));
  }
  if (plan.options.ema.has_value() && plan.options.ema->start_step > plan.run_steps) {
    return absl::InvalidArgumentError(absl::StrCat("ema_start_step is ", plan.options.ema->start_step,
                                                   ", expected no more than the ", plan.run_steps,
                                                   " steps of the run: there would be no average"));
  }
  return absl::OkStatus();
}

}  // namespace

int64_t RunPlan::StepsOf(int64_t batches) const {
  if (options.optimizer.kind == OptimizerKind::kLbfgs) return 1;
  return DivideUp(batches, options.accumulate_grad_batches);
}

absl::StatusOr<Split> UsedSplit(const Split& split, const TrainerOptions& options) {
  if (options.overfit_batches.all()) return split;
  const int64_t batches = DivideUp(static_cast<int64_t>(split.train.size()), options.batch_size);
  if (options.overfit_batches.batches > batches) {
    return absl::InvalidArgumentError(absl::StrCat("overfit_batches is ", options.overfit_batches.batches, ", but the ",
                                                   split.train.size(), " training examples make ", batches,
                                                   " batches of ", options.batch_size));
  }
  Split used = split;
  used.train = used.validation = FirstBatches(split.train, options.overfit_batches, options.batch_size);
  used.whole_validation.clear();
  return used;
}

absl::StatusOr<Split> LearnedSplit(const Split& split, const TrainerOptions& options) {
  ASSIGN_OR_RETURN(Split learned, UsedSplit(split, options));
  if (options.left_out.empty()) return learned;
  const auto num_examples = static_cast<int64_t>(options.left_out.size());
  const auto end = std::remove_if(learned.train.begin(), learned.train.end(), [&](int64_t example) {
    CHECK_LT(example, num_examples);
    return options.left_out[example] != 0;
  });
  learned.train.erase(end, learned.train.end());
  return learned;
}

absl::StatusOr<RunPlan> MakeRunPlan(const Split& split, const TrainerOptions& options) {
  if (split.train.empty()) return absl::InvalidArgumentError("there is no example to train on");
  RunPlan plan;
  plan.options = options;
  ASSIGN_OR_RETURN(const Split learned, LearnedSplit(split, options));
  if (learned.train.empty()) {
    return absl::InvalidArgumentError("every training example is left out: there is nothing to train on");
  }
  ASSIGN_OR_RETURN(Split used, UsedSplit(split, options));
  plan.train = std::move(used.train);
  plan.validation = std::move(used.validation);
  plan.whole_validation = std::move(used.whole_validation);
  if (options.overfit_batches.all()) {
    if (!options.limit_val_batches.all()) {
      plan.first_validation = FirstBatches(plan.validation, options.limit_val_batches, options.batch_size);
      plan.unlimited_validation = std::move(plan.validation);
      plan.validation = Sample(plan.unlimited_validation, static_cast<int64_t>(plan.first_validation.size()));
      if (plan.whole_validation.empty()) plan.whole_validation = plan.unlimited_validation;
    }
  } else {
    plan.options.shuffle = false;
  }
  RETURN_IF_ERROR(CheckValidation(plan));
  plan.num_batches =
      LimitBatches(options.limit_train_batches, DivideUp(static_cast<int64_t>(plan.train.size()), options.batch_size));
  plan.steps_per_epoch = plan.StepsOf(plan.num_batches);
  plan.run_steps = RunSteps(options.stop, plan.steps_per_epoch);
  ASSIGN_OR_RETURN(plan.options.schedule, ResolveSchedule(options.schedule, options.stop.max_epochs,
                                                          options.stop.max_steps, plan.steps_per_epoch));
  RETURN_IF_ERROR(CheckSchedule(plan));
  if (options.ema.has_value() && options.ema->type == EmaDecay::kExponential && plan.run_steps < 0) {
    return absl::InvalidArgumentError(
        "ema_decay_type exp follows the length of the run: give max_epochs or max_steps, or another type");
  }
  return plan;
}

DataLoaderOptions ValidationLoaderOptions(const TrainerOptions& options) {
  DataLoaderOptions loader = LoaderOptions(options);
  loader.shuffle = false;
  loader.left_out = {};
  DealOut(options.communicator, &loader);  // dealt out even if the model is sharded: validation uses the whole model
  loader.batch_size =
      options.validation_batch_size > 0 ? options.validation_batch_size : std::max<int64_t>(options.batch_size, 256);
  return loader;
}

}  // namespace rutile
