#include "tools/common/flags/checkpoint_flags.h"

#include <gflags/gflags.h>

#include <cmath>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "lib/base/status_macros.h"
#include "lib/train/files/run_directory.h"
#include "tools/common/flags/duration_flag.h"
#include "tools/common/run/flag_word.h"
#include "tools/common/run/given_flags.h"

DEFINE_string(output_dir, "run",
              "Directory for the models, checkpoints and logs of the run. It must not hold a run already, unless "
              "--resume or --overwrite is given.");
DEFINE_string(
    resume, "",
    "Continue from the last checkpoint in --output_dir. Given auto, train takes the newest undamaged checkpoint and "
    "says which, or starts a new run if there is none. Given a path, it takes that checkpoint, of this run (going back "
    "to it) or of another run (which then continues in an empty --output_dir).");
DEFINE_string(override, "",
              "Settings that may differ from those of the run to resume. They are named as in config.json, separated "
              "by commas; data allows other inputs or another split, and all allows every change. A setting that has "
              "not changed may be named, but an unknown name is an error.");
DEFINE_bool(overwrite, false, "Replace the run in --output_dir. It may be that of one model or of a committee.");
DEFINE_double(
    save_interval, 10,
    "Seconds between writes of the models and the checkpoint. A background thread writes them, one at a time, from a "
    "copy of the state, also within an epoch. With 0, each step and each epoch ends with a write and waits for it.");
DEFINE_int64(keep_every_epochs, 0,
             "Keep a numbered checkpoint every N epochs. The files are checkpoints/epoch-00010.safetensors and so on; "
             "with 0, only the last checkpoint stays.");
DEFINE_int64(keep_every_steps, 0,
             "Keep a numbered checkpoint every N optimizer steps. The files are checkpoints/step-000000500.safetensors "
             "and so on; with 0, only the last checkpoint stays.");
DEFINE_string(
    keep_every_time, "",
    "Keep a checkpoint whenever this much time has passed, as in 10m or DD:HH:MM:SS. The step is part of its name.");
DEFINE_int64(save_top_k, 0,
             "Keep the checkpoints of the k best scheduled validations. The files are "
             "checkpoints/top-epoch-00012-step-000480.safetensors and so on; -1 keeps all of them. best.safetensors is "
             "written in any case.");
DEFINE_int64(average_best, 0,
             "Average the parameters of the k best validations. The mean is written to average.safetensors when the "
             "run ends, and its validation loss is printed; with 0, there is no average.");

namespace rutile {
namespace {

const bool resume_may_stand_alone = MayStandAlone("resume");

absl::Status ResumeFromFlags(TrainerOptions* options) {
  const bool resume = !FLAGS_resume.empty() && FLAGS_resume != "false";
  if (!resume) {
    options->mode = FLAGS_overwrite ? RunMode::kOverwrite : RunMode::kNew;
    return RefuseFlags("without --resume", {"override"});
  }
  if (FLAGS_overwrite) {
    return absl::InvalidArgumentError("--resume and --overwrite exclude each other: give one of them");
  }
  options->mode = FLAGS_resume == "auto" ? RunMode::kResumeOrNew : RunMode::kResume;
  if (FLAGS_resume != "auto" && FLAGS_resume != "true") options->resume_from = FLAGS_resume;
  options->overrides = absl::StrSplit(FLAGS_override, ',', absl::SkipEmpty());
  return absl::OkStatus();
}

}  // namespace

std::string OutputDirFromFlags() { return FLAGS_output_dir; }

absl::Status CheckpointOptionsFromFlags(TrainerOptions* options) {
  RETURN_IF_ERROR(ResumeFromFlags(options));
  if (!std::isfinite(FLAGS_save_interval) || FLAGS_save_interval < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--save_interval=", FLAGS_save_interval,
                     ": expected a number of seconds, or 0 for after each step and epoch; "
                     "a large one, as 1e9, writes at the end alone"));
  }
  options->save_interval = absl::Seconds(FLAGS_save_interval);
  options->keep_every_epochs = FLAGS_keep_every_epochs;
  options->keep_every_steps = FLAGS_keep_every_steps;
  if (!FLAGS_keep_every_time.empty()) {
    ASSIGN_OR_RETURN(options->keep_every_time, ParseDurationFlag("keep_every_time", FLAGS_keep_every_time));
  }
  options->save_top_k = FLAGS_save_top_k;
  options->average_best = FLAGS_average_best;
  return absl::OkStatus();
}

}  // namespace rutile
