#include "lib/train/options/trainer_settings.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "lib/base/duration_text.h"
#include "lib/base/settings.h"
#include "lib/base/status_macros.h"
#include "lib/task/sampling_policy.h"
#include "lib/train/files/log_format.h"
#include "lib/train/options/batch_limit.h"

namespace rutile {
namespace {

using O = TrainerOptions;

bool Always(const O&) { return true; }
bool HasBatches(const O& options) { return options.optimizer.kind != OptimizerKind::kLbfgs; }
bool DrawsUniformly(const O& options) { return options.sampling_policy == SamplingPolicy::kUniform; }
bool UsesAllBatches(const O& options) { return options.overfit_batches.all(); }
bool Clips(const O& options) { return options.gradient_clip_val > 0; }
bool HasWorkers(const O& options) { return options.num_workers > 0; }
bool WritesBeforeTheEnd(const O& options) { return options.files != RunFiles::kAtEnd; }
bool WritesFiles(const O& options) { return options.files != RunFiles::kNone; }

template <BatchLimit O::*kLimit>
bool IsLimited(const O& options) {
  return !(options.*kLimit).all();
}

template <BatchLimit O::*kLimit>
SettingValue GetLimit(const O& options) {
  return BatchLimitText(options.*kLimit);
}

template <BatchLimit O::*kLimit>
SettingValue RecordLimit(const O& options) {
  return BatchLimitNumber(options.*kLimit);
}

template <BatchLimit O::*kLimit>
absl::Status SetLimit(absl::string_view text, O* options) {
  ASSIGN_OR_RETURN(options->*kLimit, ParseBatchLimit(text));
  return absl::OkStatus();
}

// Without a limit the flag is empty: 1.0 would be ordinary training.
SettingValue GetOverfit(const O& options) {
  return UsesAllBatches(options) ? std::string() : BatchLimitText(options.overfit_batches);
}

absl::Status SetOverfit(absl::string_view text, O* options) {
  BatchLimit limit;
  if (!text.empty()) {
    ASSIGN_OR_RETURN(limit, ParseBatchLimit(text));
    if (limit.all()) return absl::InvalidArgumentError("it is all of them: that is training; leave it out");
  }
  options->overfit_batches = limit;
  return absl::OkStatus();
}

// Seconds. An endless interval is a number, too: the largest.
SettingValue GetSaveInterval(const O& options) {
  return std::min(absl::ToDoubleSeconds(options.save_interval), std::numeric_limits<double>::max());
}

absl::Status SetSaveInterval(absl::string_view text, O* options) {
  double seconds;
  if (!absl::SimpleAtod(text, &seconds) || !std::isfinite(seconds) || seconds < 0) {
    return absl::InvalidArgumentError(
        "expected a number of seconds, or 0 for after each step and epoch; a large one, as 1e9, writes at the end "
        "alone");
  }
  options->save_interval = absl::Seconds(seconds);
  return absl::OkStatus();
}

SettingValue GetKeepEveryTime(const O& options) { return DurationText(options.keep_every_time); }

absl::Status SetKeepEveryTime(absl::string_view text, O* options) {
  absl::Duration time = absl::InfiniteDuration();
  if (!text.empty()) {
    ASSIGN_OR_RETURN(time, ParseDurationText(text));
  }
  options->keep_every_time = time;
  return absl::OkStatus();
}

SettingValue GetLogInterval(const O& options) {
  return options.log_interval == absl::ZeroDuration() ? "0" : absl::FormatDuration(options.log_interval);
}

absl::Status SetLogInterval(absl::string_view text, O* options) {
  double seconds;
  if (absl::SimpleAtod(text, &seconds) && seconds >= 0 && seconds <= 1e9) {
    options->log_interval = absl::Seconds(seconds);
    return absl::OkStatus();
  }
  const absl::StatusOr<absl::Duration> interval = ParseDurationText(text);
  if (!interval.ok() || *interval > absl::Seconds(1e9)) {
    return absl::InvalidArgumentError("expected seconds, DD:HH:MM:SS or a duration as in 1m30s, or 0 for no lines");
  }
  options->log_interval = *interval;
  return absl::OkStatus();
}

SettingValue GetLogger(const O& options) { return LogFormatsName(options.log_formats); }

absl::Status SetLogger(absl::string_view text, O* options) {
  ASSIGN_OR_RETURN(options->log_formats, ParseLogFormats(text));
  return absl::OkStatus();
}

// Files that only a run that writes while it trains has.
constexpr Setting<O> WrittenWhileTraining(const Setting<O>& row) {
  return row.Needs("barebones", WritesBeforeTheEnd).Needs("fast_dev_run", WritesFiles).RecordedIf(Always).NotCompared();
}

}  // namespace

// Checkpoints hold many settings only where they are not the default: runs of versions without them can be resumed.

absl::Span<const Setting<TrainerOptions>> TrainingSettings() {
  static constexpr Setting<O> kSettings[] = {
      Setting<O>("seed", &O::seed,
                 "Random seed for initial parameters and example order. The same seed gives bitwise identical runs.")
          .Resetting(RunPart::kEpoch),
      Setting<O>("batch_size", &O::batch_size,
                 "Number of examples in a batch. With 0, it is 8 structures, or 128 triples (256 with "
                 "--conve_variant=tiepin).")
          .In(AtLeast(1))
          .Automatic("0")
          .Needs("optimizer", HasBatches)
          .Resetting(RunPart::kEpoch),
      Setting<O>("shuffle", &O::shuffle, "Shuffle the training examples in each epoch.")
          .Needs("optimizer", HasBatches)
          .Needs("sampling_policy", DrawsUniformly)
          .Needs("overfit_batches", UsesAllBatches)
          .RecordedIf(HasBatches)
          .Resetting(RunPart::kEpoch),
      Setting<O>::Choice<&O::sampling_policy, &kSamplingPolicyNames>(
          "sampling_policy",
          "How an epoch draws examples: uniform, energy_weighted or error_weighted. With uniform, each example "
          "comes once. The other two draw with replacement: low energies up to twice as often, or examples in "
          "proportion to the last error of their energy per atom. With lbfgs, it must be uniform.")
          .RecordedIf([](const O& options) { return HasBatches(options) && !DrawsUniformly(options); })
          .Resetting(RunPart::kEpoch)
          .Resetting(RunPart::kTask),
      Setting<O>(
          "accumulate_grad_batches", &O::accumulate_grad_batches,
          "Number of batches in an optimizer step. The step equals that of one large batch to rounding; the batches "
          "left at the end of an epoch make a smaller step. With lbfgs, it must be 1.")
          .In(AtLeast(1))
          .RecordedIf([](const O& options) { return HasBatches(options) && options.accumulate_grad_batches > 1; })
          .Resetting(RunPart::kEpoch),
      Setting<O>("gradient_clip_val", &O::gradient_clip_val,
                 "Limit of the gradient's norm or of its components. The gradient is clipped after the terms of the "
                 "loss are combined; 0 means no limit.")
          .In(Above(0).Or(0, "no limit"))
          .RecordedIf(HasBatches)
          .Once("gradient_clip_norm")
          .OnceWith("gradient_clip_value", "gradient_clip_algorithm", "value"),
      Setting<O>::Choice<&O::gradient_clip_algorithm, &kGradientClipNames>(
          "gradient_clip_algorithm",
          "How to clip the gradient: norm or value. With norm, the gradient is scaled down to a 2-norm, over all "
          "parameters, of --gradient_clip_val; with value, each component is cut at that absolute value.")
          .Needs("gradient_clip_val", Clips)
          .RecordedIf([](const O& options) {
            return HasBatches(options) && Clips(options) && options.gradient_clip_algorithm != GradientClip::kNorm;
          }),
      Setting<O>::Text("limit_train_batches", GetLimit<&O::limit_train_batches>, SetLimit<&O::limit_train_batches>,
                       "Number (10) or share (0.1) of an epoch's batches to train on. They are the first ones of its "
                       "order; a number with a dot is a share.")
          .RecordedIf([](const O& o) { return HasBatches(o) && IsLimited<&O::limit_train_batches>(o); })
          .RecordedAs(RecordLimit<&O::limit_train_batches>)
          .Resetting(RunPart::kEpoch),
      Setting<O>::Text(
          "overfit_batches", GetOverfit, SetOverfit,
          "Number (1) or share (0.01) of batches to train and validate on alone. They are the first ones, are never "
          "shuffled, and cannot exceed the number of batches. A model that cannot learn them by heart has a fault.")
          .RecordedIf([](const O& o) { return HasBatches(o) && IsLimited<&O::overfit_batches>(o); })
          .RecordedAs(RecordLimit<&O::overfit_batches>)
          .Resetting(RunPart::kEpoch)
          .Resetting(RunPart::kBestModel),
      Setting<O>::Choice<&O::compile_mode, &kCompileModeNames>(
          "compile_mode",
          "How to compute gradients: compile, none or script. With compile, fused kernels do it; with none, "
          "LibTorch's operations and autograd, which are the reference; with script, the same with networks as "
          "TorchScript.")
          .NotCompared(),
      Setting<O>("check_gradient", &O::check_gradient,
                 "Compare the first batch's gradient with the reference. If they differ, on the next examples, too, "
                 "training stops. The check applies to --compile_mode=compile and script.")
          .Needs("compile_mode", [](const O& options) { return options.compile_mode != CompileMode::kNone; })
          .NotCompared(),
      Setting<O>("num_workers", &O::num_workers,
                 "Number of threads that prepare batches ahead of training. Cached features need none, because a "
                 "batch is a copy of them.")
          .In(AtLeast(0))
          .NotCompared(),
      Setting<O>("prefetch_factor", &O::prefetch_factor,
                 "Number of batches that each worker prepares ahead, with --num_workers.")
          .In(AtLeast(1))
          .Needs("num_workers", HasWorkers)
          .RecordedIf(Always)
          .NotCompared(),
      Setting<O>("persistent_workers", &O::persistent_workers,
                 "Keep the threads of --num_workers between epochs. Otherwise they end with each epoch, and their "
                 "batches are discarded.")
          .Needs("num_workers", HasWorkers)
          .RecordedIf(Always)
          .NotCompared(),
  };
  return kSettings;
}

absl::Span<const Setting<TrainerOptions>> BucketSettings() {
  static constexpr Setting<O> kSettings[] = {
      // The window is compared, which is in a checkpoint only where there are buckets.
      Setting<O>("bucket_by_size", &O::bucket_by_size,
                 "Make batches of structures of similar size. Each window of --bucket_window batches is sorted by the "
                 "number of atoms, and all batches then come in random order. The flag is refused with --noshuffle, "
                 "--overfit_batches or lbfgs.")
          .NotCompared(),
      Setting<O>("bucket_window", &O::bucket_window,
                 "Number of batches that --bucket_by_size sorts together. A window of 1 changes no batch, and one "
                 "larger than the epoch sorts all of it.")
          .In(AtLeast(1))
          .NeedsOneOf("bucket_by_size", [](const O& options) { return options.bucket_by_size; })
          .Resetting(RunPart::kEpoch),
  };
  return kSettings;
}

absl::Span<const Setting<TrainerOptions>> MonitorSettings() {
  static constexpr Setting<O> kSettings[] = {
      Setting<O>::Text("limit_val_batches", GetLimit<&O::limit_val_batches>, SetLimit<&O::limit_val_batches>,
                       "Number (10) or share (0.1) of batches to validate on. A number with a dot is a share. Their "
                       "examples are a random sample, the same in each validation and for each seed.")
          .Needs("overfit_batches", UsesAllBatches)
          .RecordedIf(IsLimited<&O::limit_val_batches>)
          .RecordedAs(RecordLimit<&O::limit_val_batches>)
          .Resetting(RunPart::kBestModel),
      Setting<O>(
          "monitor", &O::monitor,
          "Value that decides the best model, early stopping and plateau. It is val_loss, train_loss, or val_ and "
          "a metric of log.tsv, as in val_force_rmse or val_hits@10; more is better for val_mrr and val_hits@k. If "
          "empty, it is val_loss, on triples val_mrr, and train_loss without a validation set.")
          .RecordedIf([](const O& options) { return !options.monitor.empty(); })
          .Resetting(RunPart::kBestModel),
  };
  return kSettings;
}

absl::Span<const Setting<TrainerOptions>> CheckpointSettings() {
  static constexpr Setting<O> kSettings[] = {
      WrittenWhileTraining(
          Setting<O>::Text("save_interval", GetSaveInterval, SetSaveInterval,
                           "Seconds between writes of the models and the checkpoint. A background thread writes "
                           "them, one at a time, from a copy of the state, also within an epoch. With 0, each step "
                           "and each epoch ends with a write and waits for it.")
              .In(AtLeast(0))),
      WrittenWhileTraining(Setting<O>("keep_every_epochs", &O::keep_every_epochs,
                                      "Keep a numbered checkpoint every N epochs. The files are "
                                      "checkpoints/epoch-00010.safetensors and so on; with 0, only the last "
                                      "checkpoint stays.")
                               .In(AtLeast(0))),
      WrittenWhileTraining(Setting<O>("keep_every_steps", &O::keep_every_steps,
                                      "Keep a numbered checkpoint every N optimizer steps. The files are "
                                      "checkpoints/step-000000500.safetensors and so on; with 0, only the last "
                                      "checkpoint stays.")
                               .In(AtLeast(0))),
      WrittenWhileTraining(Setting<O>::Text("keep_every_time", GetKeepEveryTime, SetKeepEveryTime,
                                            "Keep a checkpoint whenever this much time has passed, as in 10m or "
                                            "DD:HH:MM:SS. The step is part of its name.")),
      WrittenWhileTraining(Setting<O>("save_top_k", &O::save_top_k,
                                      "Keep the checkpoints of the k best scheduled validations. The files are "
                                      "checkpoints/top-epoch-00012-step-000480.safetensors and so on; -1 keeps all "
                                      "of them. best.safetensors is written in any case.")
                               .In(AtLeast(-1))),
      Setting<O>("average_best", &O::average_best,
                 "Average the parameters of the k best validations. The mean is written to average.safetensors when "
                 "the run ends, and its validation loss is printed; with 0, there is no average.")
          .In(AtLeast(0))
          .RecordedIf([](const O& options) { return options.average_best > 0; })
          .Resetting(RunPart::kAverageBest),
  };
  return kSettings;
}

absl::Span<const Setting<TrainerOptions>> LogSettings() {
  static constexpr Setting<O> kSettings[] = {
      WrittenWhileTraining(Setting<O>::Text("logger", GetLogger, SetLogger,
                                            "Formats of the logs: tsv (log.tsv), jsonl (log.jsonl), both, or none.")),
      WrittenWhileTraining(Setting<O>::Text(
          "log_interval", GetLogInterval, SetLogInterval,
          "Time between lines of progress on standard error where it is no terminal, as in 30s, 5m or a number of "
          "seconds. When the monitored value has improved by a tenth, a line comes sooner, after a tenth of the time; "
          "with 0, there are no lines.")),
      WrittenWhileTraining(
          Setting<O>("log_every_n_steps", &O::log_every_n_steps,
                     "Write a row to steps.tsv and steps.jsonl every N optimizer steps. It holds the loss of the "
                     "step's batches, the learning rate, the norm of the gradient before clipping and the seconds "
                     "since the session's first step, and costs about 5 microseconds. With 0, there are no such "
                     "files.")
              .In(AtLeast(0)))
          .Needs("logger", [](const O& options) { return !options.log_formats.empty(); }),
  };
  return kSettings;
}

absl::Span<const Setting<TrainerOptions>> InputSettings() {
  static constexpr Setting<O> kSettings[] = {
      // Checkpoints compare hashes of the inputs where there are some, else counts: no value of theirs is shown.
      Setting<O>("data", &O::data_sha256, "Content of the training examples.")
          .Derived("of the inputs")
          .RecordedIf([](const O&) { return false; })
          .Resetting(RunPart::kEpoch)
          .Resetting(RunPart::kTask)
          .Resetting(RunPart::kBestModel),
  };
  return kSettings;
}

const SettingInfo& DataSetting() { return InputSettings().front(); }

}  // namespace rutile
