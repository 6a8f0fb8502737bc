#include "tools/common/flags/trainer_flags.h"

#include <gflags/gflags.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/task/sampling_policy.h"
#include "lib/train/options/batch_limit.h"
#include "tools/common/flags/bucket_flags.h"
#include "tools/common/flags/checkpoint_flags.h"
#include "tools/common/flags/ema_flags.h"
#include "tools/common/flags/limit_flags.h"
#include "tools/common/flags/log_flags.h"
#include "tools/common/flags/optimizer_flags.h"
#include "tools/common/flags/schedule_flags.h"
#include "tools/common/flags/validation_flags.h"
#include "tools/common/run/given_flags.h"

DEFINE_int64(seed, 0,
             "Random seed for initial parameters and example order. The same seed gives bitwise identical runs.");
DEFINE_int64(batch_size, 32,
             "Number of examples in a batch. On triples the default is 128, or 256 with --conve_variant=tiepin.");
DEFINE_bool(shuffle, true, "Shuffle the training examples in each epoch.");
DEFINE_string(sampling_policy, "uniform",
              "How an epoch draws examples: uniform, energy_weighted or error_weighted. With uniform, each example "
              "comes once. The other two draw with replacement: low energies up to twice as often, or examples in "
              "proportion to the last error of their energy per atom. With lbfgs, it must be uniform.");
DEFINE_int64(accumulate_grad_batches, 1,
             "Number of batches in an optimizer step. The step equals that of one large batch to rounding; the batches "
             "left at the end of an epoch make a smaller step. With lbfgs, it must be 1.");
DEFINE_double(gradient_clip_val, 0,
              "Limit of the gradient's norm or of its components. The gradient is clipped after the terms of the loss "
              "are combined; 0 means no limit.");
DEFINE_string(gradient_clip_algorithm, "norm",
              "How to clip the gradient: norm or value. With norm, the gradient is scaled down to a 2-norm, over all "
              "parameters, of --gradient_clip_val; with value, each component is cut at that absolute value.");
DEFINE_string(limit_train_batches, "1.0",
              "Number (10) or share (0.1) of an epoch's batches to train on. They are the first ones of its order; a "
              "number with a dot is a share.");
DEFINE_string(
    overfit_batches, "",
    "Number (1) or share (0.01) of batches to train and validate on alone. They are the first ones, are never "
    "shuffled, and cannot exceed the number of batches. A model that cannot learn them by heart has a fault.");
DEFINE_int32(
    fast_dev_run, 0,
    "Try out one epoch of N batches. As many batches are validated, and nothing is written; 0 means an ordinary run.");
DEFINE_bool(
    barebones, false,
    "Train without progress, logs or files before the end of the run. Flags that ask for one of them are refused.");
DEFINE_string(
    compile_mode, "compile",
    "How to compute gradients: compile, none or script. With compile, fused kernels do it; with none, LibTorch's "
    "operations and autograd, which are the reference; with script, the same with networks as TorchScript.");
DEFINE_bool(check_gradient, true,
            "Compare the first batch's gradient with the reference. If they differ, on the next examples, too, "
            "training stops. The check applies to --compile_mode=compile and script.");
DEFINE_int32(num_workers, 0,
             "Number of threads that prepare batches ahead of training. Cached features need none, because a batch is "
             "a copy of them.");
DEFINE_int32(prefetch_factor, 2, "Number of batches that each worker prepares ahead, with --num_workers.");
DEFINE_bool(persistent_workers, true,
            "Keep the threads of --num_workers between epochs. Otherwise they end with each epoch, and their batches "
            "are discarded.");

namespace rutile {

namespace {

absl::Status GradientOptionsFromFlags(TrainerOptions* options) {
  options->accumulate_grad_batches = FLAGS_accumulate_grad_batches;
  if (!std::isfinite(FLAGS_gradient_clip_val) || FLAGS_gradient_clip_val < 0) {
    return absl::InvalidArgumentError(absl::StrCat("--gradient_clip_val=", FLAGS_gradient_clip_val,
                                                   ": expected a number above 0, or 0 for no limit"));
  }
  if (FLAGS_gradient_clip_algorithm == "norm") {
    options->gradient_clip_norm = FLAGS_gradient_clip_val;
  } else if (FLAGS_gradient_clip_algorithm == "value") {
    options->gradient_clip_value = FLAGS_gradient_clip_val;
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("--gradient_clip_algorithm=", FLAGS_gradient_clip_algorithm, ": expected norm or value"));
  }
  return RefuseUnused("--gradient_clip_val=0", {{"gradient_clip_algorithm", FLAGS_gradient_clip_val != 0}});
}

// What serves to try things out.
absl::Status DebugOptionsFromFlags(TrainerOptions* options) {
  ASSIGN_OR_RETURN(options->limit_train_batches, ParseBatchLimit("--limit_train_batches", FLAGS_limit_train_batches));
  if (!FLAGS_overfit_batches.empty()) {
    ASSIGN_OR_RETURN(options->overfit_batches, ParseBatchLimit("--overfit_batches", FLAGS_overfit_batches));
    if (options->overfit_batches.all()) {
      return absl::InvalidArgumentError("--overfit_batches=1.0 is all of them: that is training; leave it out");
    }
    RETURN_IF_ERROR(RefuseFlags("with --overfit_batches", {"shuffle", "limit_val_batches"}));
  }
  if (FLAGS_fast_dev_run < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--fast_dev_run=", FLAGS_fast_dev_run, ": expected a number of batches, or 0 for off"));
  }
  if (FLAGS_barebones) {
    RETURN_IF_ERROR(RefuseFlags("with --barebones, which writes nothing before the end",
                                {"save_interval", "keep_every_epochs", "keep_every_steps", "keep_every_time",
                                 "save_top_k", "fast_dev_run", "progress"}));
    options->files = RunFiles::kAtEnd;
  }
  if (FLAGS_fast_dev_run == 0) return absl::OkStatus();
  RETURN_IF_ERROR(
      RefuseFlags("with --fast_dev_run, which says how much is done and writes nothing",
                  {"max_epochs", "max_steps", "min_epochs", "min_steps", "limit_train_batches", "limit_val_batches",
                   "overfit_batches", "resume", "overwrite", "output_dir", "save_interval", "keep_every_epochs",
                   "keep_every_steps", "keep_every_time", "save_top_k"}));
  options->stop.max_epochs = 1;
  options->limit_train_batches.batches = FLAGS_fast_dev_run;
  options->limit_val_batches.batches = FLAGS_fast_dev_run;
  options->files = RunFiles::kNone;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TrainerOptions> TrainerOptionsFromFlags() {
  TrainerOptions options;
  ASSIGN_OR_RETURN(options.optimizer, OptimizerOptionsFromFlags());
  ASSIGN_OR_RETURN(options.groups, ParameterGroupOptionsFromFlags(options.optimizer));
  ASSIGN_OR_RETURN(options.schedule, ScheduleOptionsFromFlags());
  ASSIGN_OR_RETURN(options.stop, StopOptionsFromFlags());
  ASSIGN_OR_RETURN(options.ema, EmaOptionsFromFlags());
  RETURN_IF_ERROR(ValidationOptionsFromFlags(&options));
  RETURN_IF_ERROR(CheckpointOptionsFromFlags(&options));
  RETURN_IF_ERROR(GradientOptionsFromFlags(&options));
  RETURN_IF_ERROR(DebugOptionsFromFlags(&options));
  ASSIGN_OR_RETURN(options.compile_mode, ParseCompileMode(FLAGS_compile_mode));
  ASSIGN_OR_RETURN(options.sampling_policy, ParseSamplingPolicy(FLAGS_sampling_policy));
  ASSIGN_OR_RETURN(options.bucket_window, BucketWindowFromFlags());
  RETURN_IF_ERROR(RefuseUnused(
      "--num_workers=0", {{"prefetch_factor", FLAGS_num_workers > 0}, {"persistent_workers", FLAGS_num_workers > 0}}));
  RETURN_IF_ERROR(RefuseUnused(absl::StrCat("--sampling_policy=", FLAGS_sampling_policy),
                               {{"shuffle", options.sampling_policy == SamplingPolicy::kUniform}}));
  RETURN_IF_ERROR(RefuseUnused(absl::StrCat("--compile_mode=", FLAGS_compile_mode),
                               {{"check_gradient", options.compile_mode != CompileMode::kNone}}));
  options.seed = FLAGS_seed;
  options.batch_size = FLAGS_batch_size;
  options.shuffle = FLAGS_shuffle;
  options.check_gradient = FLAGS_check_gradient;
  options.num_workers = FLAGS_num_workers;
  options.prefetch_factor = FLAGS_prefetch_factor;
  options.persistent_workers = FLAGS_persistent_workers;
  ASSIGN_OR_RETURN(const LogOptions log, LogOptionsFromFlags(options.files));
  options.log_formats = log.formats;
  options.log_every_n_steps = log.every_n_steps;
  RETURN_IF_ERROR(CheckTrainerOptions(options));
  return options;
}

}  // namespace rutile
