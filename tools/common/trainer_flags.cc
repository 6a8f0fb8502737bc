#include "tools/common/trainer_flags.h"

#include <gflags/gflags.h>

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "lib/base/status_macros.h"
#include "lib/task/sampling_policy.h"

DEFINE_string(optimizer, "adam", "adam, adamw, sgd or lbfgs (which takes all examples at once).");
DEFINE_double(learning_rate, 0, "Step size. 0: the optimiser's default, 0.001 (adam, adamw), 0.01 (sgd), 1 (lbfgs).");
DEFINE_double(
    weight_decay, -1,
    "Added to the gradient (adam, sgd) or shrinking the parameters (adamw). -1: the default, 0.01 (adamw), else 0.");
DEFINE_double(beta1, 0.9, "Decay of the mean of gradients (adam, adamw).");
DEFINE_double(beta2, 0.999, "Decay of the mean of squared gradients (adam, adamw).");
DEFINE_double(epsilon, 1e-8, "Added to the root of the mean square (adam, adamw).");
DEFINE_double(momentum, 0, "Share of the last step that is kept (sgd).");
DEFINE_bool(nesterov, false, "Nesterov's momentum (sgd).");
DEFINE_int32(history_size, 100, "Steps that L-BFGS remembers.");

DEFINE_string(lr_scheduler, "constant", "constant, step, exponential, cosine or plateau.");
DEFINE_double(lr_factor, 0.1, "Factor of step, exponential and plateau.");
DEFINE_int64(lr_period, 0, "Epochs between drops (step), or until the lowest rate (cosine; 0: the whole run).");
DEFINE_double(min_learning_rate, 0, "No schedule goes below it.");
DEFINE_int64(lr_patience, 10, "Validations without improvement after which plateau lowers the rate.");
DEFINE_double(lr_threshold, 1e-4, "Relative improvement that counts as one (plateau).");
DEFINE_int64(warmup_steps, 0, "Optimiser steps over which the rate rises linearly, from a third of its value.");

DEFINE_int64(max_epochs, 1000, "Stop after this many passes over the training examples.");
DEFINE_int64(max_steps, -1, "Stop after this many optimiser steps. -1: no limit.");
DEFINE_string(max_time, "", "Stop after this time: DD:HH:MM:SS, or as 1h30m. Empty: no limit.");
DEFINE_int64(patience, 0, "Stop after this many validations without a better loss. 0: never.");
DEFINE_double(min_delta, 0, "By how much a loss must be lower to count as better (with --patience).");

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

DEFINE_double(validation_fraction, 0.1, "Share of the examples, drawn at random, that choose the best model.");
DEFINE_double(test_fraction, 0, "Share of the examples, drawn at random, that training never sees.");
DEFINE_int64(split_seed, 0, "Fixes what is drawn for validation and test, apart from --seed.");
DEFINE_string(validation_frames, "",
              "File with the numbers of the validation examples, from 0, instead of drawing them.");
DEFINE_string(test_frames, "", "File with the numbers of the test examples, from 0, instead of drawing them.");
DEFINE_string(validation_key, "", "KEY:GLOB, as in config_type:valid*: these examples validate.");
DEFINE_string(test_key, "", "KEY:GLOB, as in config_type:test*: these examples are the test set.");

namespace rutile {
namespace {

bool IsGiven(const char* name) { return !gflags::GetCommandLineFlagInfoOrDie(name).is_default; }

// Flags that do nothing under the chosen kind are refused: nobody tunes a flag in vain.
absl::Status RefuseUnused(absl::string_view chosen, std::initializer_list<std::pair<const char*, bool>> used) {
  for (const auto& [name, is_used] : used) {
    if (!is_used && IsGiven(name)) {
      return absl::InvalidArgumentError(absl::StrCat("--", name, " has no effect with ", chosen, ": leave it out"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<absl::Duration> ParseTime(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
  absl::Duration duration;
  if (parts.size() == 1) {
    if (absl::ParseDuration(std::string(text), &duration) && duration > absl::ZeroDuration()) return duration;
  } else if (parts.size() == 4) {
    int64_t days, hours, minutes, seconds;
    if (absl::SimpleAtoi(parts[0], &days) && absl::SimpleAtoi(parts[1], &hours) &&
        absl::SimpleAtoi(parts[2], &minutes) && absl::SimpleAtoi(parts[3], &seconds) && days >= 0 && hours >= 0 &&
        minutes >= 0 && seconds >= 0) {
      duration = absl::Hours(24 * days + hours) + absl::Minutes(minutes) + absl::Seconds(seconds);
      if (duration > absl::ZeroDuration()) return duration;
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--max_time=", text, ": expected DD:HH:MM:SS or a duration as in 1h30m, above 0"));
}

absl::StatusOr<OptimizerOptions> OptimizerOptionsFromFlags() {
  ASSIGN_OR_RETURN(OptimizerOptions options, DefaultOptimizerOptions(FLAGS_optimizer));
  const bool adam = options.kind == OptimizerKind::kAdam || options.kind == OptimizerKind::kAdamW;
  const bool sgd = options.kind == OptimizerKind::kSgd;
  const bool lbfgs = options.kind == OptimizerKind::kLbfgs;
  RETURN_IF_ERROR(RefuseUnused(absl::StrCat("--optimizer=", FLAGS_optimizer), {{"beta1", adam},
                                                                               {"beta2", adam},
                                                                               {"epsilon", adam},
                                                                               {"momentum", sgd},
                                                                               {"nesterov", sgd},
                                                                               {"weight_decay", !lbfgs},
                                                                               {"history_size", lbfgs},
                                                                               {"batch_size", !lbfgs}}));
  if (FLAGS_learning_rate != 0) options.learning_rate = FLAGS_learning_rate;
  if (FLAGS_weight_decay != -1) options.weight_decay = FLAGS_weight_decay;
  options.beta1 = FLAGS_beta1;
  options.beta2 = FLAGS_beta2;
  options.epsilon = FLAGS_epsilon;
  options.momentum = FLAGS_momentum;
  options.nesterov = FLAGS_nesterov;
  options.history_size = FLAGS_history_size;
  RETURN_IF_ERROR(CheckOptimizerOptions(options));
  return options;
}

absl::StatusOr<ScheduleOptions> ScheduleOptionsFromFlags() {
  ScheduleOptions options;
  ASSIGN_OR_RETURN(options.kind, ParseScheduleKind(FLAGS_lr_scheduler));
  const bool step = options.kind == ScheduleKind::kStep;
  const bool exponential = options.kind == ScheduleKind::kExponential;
  const bool cosine = options.kind == ScheduleKind::kCosine;
  const bool plateau = options.kind == ScheduleKind::kPlateau;
  RETURN_IF_ERROR(RefuseUnused(absl::StrCat("--lr_scheduler=", FLAGS_lr_scheduler),
                               {{"lr_factor", step || exponential || plateau},
                                {"lr_period", step || cosine},
                                {"min_learning_rate", step || exponential || cosine || plateau},
                                {"lr_patience", plateau},
                                {"lr_threshold", plateau}}));
  options.factor = FLAGS_lr_factor;
  options.period = FLAGS_lr_period;
  options.min_learning_rate = FLAGS_min_learning_rate;
  options.patience = FLAGS_lr_patience;
  options.threshold = FLAGS_lr_threshold;
  options.warmup_steps = FLAGS_warmup_steps;
  RETURN_IF_ERROR(CheckScheduleOptions(options));
  return options;
}

absl::StatusOr<StopOptions> StopOptionsFromFlags() {
  StopOptions options;
  options.max_epochs = FLAGS_max_epochs;
  options.max_steps = FLAGS_max_steps;
  options.patience = FLAGS_patience;
  options.min_delta = FLAGS_min_delta;
  if (FLAGS_patience == 0 && IsGiven("min_delta")) {
    return absl::InvalidArgumentError("--min_delta has no effect without --patience: give both or leave it out");
  }
  if (!FLAGS_max_time.empty()) {
    ASSIGN_OR_RETURN(options.max_time, ParseTime(FLAGS_max_time));
  }
  RETURN_IF_ERROR(CheckStopOptions(options));
  return options;
}

}  // namespace

absl::StatusOr<TrainerOptions> TrainerOptionsFromFlags() {
  TrainerOptions options;
  ASSIGN_OR_RETURN(options.optimizer, OptimizerOptionsFromFlags());
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

absl::StatusOr<SplitOptions> SplitOptionsFromFlags(
    const std::function<absl::StatusOr<std::vector<bool>>(absl::string_view, absl::string_view)>& mask) {
  SplitOptions options;
  options.seed = FLAGS_split_seed;
  options.validation_fraction = FLAGS_validation_fraction;
  options.test_fraction = FLAGS_test_fraction;
  struct Source {
    const char* set;
    const std::string& frames;
    const std::string& key;
    std::optional<std::vector<int64_t>>* examples;
    std::vector<bool>* mask;
  };
  for (const Source& source :
       {Source{"validation", FLAGS_validation_frames, FLAGS_validation_key, &options.validation_examples,
               &options.validation_mask},
        Source{"test", FLAGS_test_frames, FLAGS_test_key, &options.test_examples, &options.test_mask}}) {
    const std::string fraction = absl::StrCat(source.set, "_fraction");
    if (!source.frames.empty() + !source.key.empty() + IsGiven(fraction.c_str()) > 1) {
      return absl::InvalidArgumentError(absl::StrCat("--", source.set, "_frames, --", source.set, "_key and --",
                                                     fraction, " each choose the ", source.set,
                                                     " set: give one of them"));
    }
    if (!source.frames.empty()) {
      ASSIGN_OR_RETURN(*source.examples, ReadIndexFile(source.frames));
    }
    if (!source.key.empty()) {
      const size_t colon = source.key.find(':');
      if (colon == std::string::npos || colon == 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("--", source.set, "_key=", source.key, ": expected KEY:GLOB, as in config_type:test*"));
      }
      ASSIGN_OR_RETURN(*source.mask, mask(source.key.substr(0, colon), source.key.substr(colon + 1)));
    }
  }
  return options;
}

}  // namespace rutile
