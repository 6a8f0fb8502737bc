#include "tools/common/trainer_flags.h"

#include <gflags/gflags.h>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "lib/base/status_macros.h"
#include "lib/task/sampling_policy.h"
#include "tools/common/given_flags.h"
#include "tools/common/limit_flags.h"
#include "tools/common/optimizer_flags.h"
#include "tools/common/schedule_flags.h"

DEFINE_string(output_dir, "run", "Directory that keeps the run: models, checkpoints, log.tsv.");
DEFINE_bool(resume, false, "Go on from the last checkpoint in --output_dir.");
DEFINE_bool(overwrite, false, "Replace the run in --output_dir.");
DEFINE_int64(seed, 0, "Of initial parameters and of the order of examples. Same seed, same bits.");
DEFINE_int64(batch_size, 32, "Examples per step.");
DEFINE_bool(shuffle, true, "Another order of the training examples in each epoch.");
DEFINE_string(sampling_policy, "uniform",
              "uniform (each example once in an epoch), energy_weighted (low energies more often) or error_weighted "
              "(what was predicted badly more often); the last two draw with replacement.");
DEFINE_double(gradient_clip_val, 0, "Longest gradient (2-norm over all parameters). 0: no limit.");
DEFINE_string(compile_mode, "compile",
              "compile (the fused kernels) or none (LibTorch's operations and autograd, the reference).");
DEFINE_bool(check_gradient, true,
            "Compare the first batch's fused gradient with the reference, and stop if they differ.");
DEFINE_int32(num_workers, 0, "Threads that make batches ahead. Cached features need none: a batch is a copy.");
DEFINE_int32(prefetch_factor, 2, "Batches ahead for each worker (with --num_workers).");
DEFINE_bool(persistent_workers, true,
            "Keep the threads of --num_workers between epochs; else they and their batches go.");
DEFINE_double(save_interval, 10,
              "Seconds between writes of best, last and checkpoint while training. 0: after each epoch.");
DEFINE_int64(keep_every_epochs, 0, "Keep a checkpoint of every so many epochs, numbered. 0: only the last.");

namespace rutile {

absl::StatusOr<TrainerOptions> TrainerOptionsFromFlags() {
  TrainerOptions options;
  ASSIGN_OR_RETURN(options.optimizer, OptimizerOptionsFromFlags());
  ASSIGN_OR_RETURN(options.groups, ParameterGroupOptionsFromFlags(options.optimizer));
  ASSIGN_OR_RETURN(options.schedule, ScheduleOptionsFromFlags());
  ASSIGN_OR_RETURN(options.stop, StopOptionsFromFlags());
  ASSIGN_OR_RETURN(options.compile_mode, ParseCompileMode(FLAGS_compile_mode));
  if (FLAGS_resume && FLAGS_overwrite) {
    return absl::InvalidArgumentError("--resume and --overwrite exclude each other: give one of them");
  }
  ASSIGN_OR_RETURN(options.sampling_policy, ParseSamplingPolicy(FLAGS_sampling_policy));
  RETURN_IF_ERROR(RefuseUnused(
      "--num_workers=0", {{"prefetch_factor", FLAGS_num_workers > 0}, {"persistent_workers", FLAGS_num_workers > 0}}));
  RETURN_IF_ERROR(RefuseUnused(absl::StrCat("--sampling_policy=", FLAGS_sampling_policy),
                               {{"shuffle", options.sampling_policy == SamplingPolicy::kUniform}}));
  RETURN_IF_ERROR(RefuseUnused(absl::StrCat("--compile_mode=", FLAGS_compile_mode),
                               {{"check_gradient", options.compile_mode == CompileMode::kCompile}}));
  options.mode = FLAGS_resume ? RunMode::kResume : FLAGS_overwrite ? RunMode::kOverwrite : RunMode::kNew;
  options.seed = FLAGS_seed;
  options.batch_size = FLAGS_batch_size;
  options.shuffle = FLAGS_shuffle;
  options.gradient_clip_norm = FLAGS_gradient_clip_val;
  options.check_gradient = FLAGS_check_gradient;
  options.num_workers = FLAGS_num_workers;
  options.prefetch_factor = FLAGS_prefetch_factor;
  options.persistent_workers = FLAGS_persistent_workers;
  options.save_interval = absl::Seconds(FLAGS_save_interval);
  options.keep_every_epochs = FLAGS_keep_every_epochs;
  RETURN_IF_ERROR(CheckTrainerOptions(options));
  return options;
}

std::string OutputDirFromFlags() { return FLAGS_output_dir; }

}  // namespace rutile
