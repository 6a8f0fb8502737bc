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

DEFINE_string(output_dir, "run", "Directory that keeps the run: models, checkpoints, log.tsv.");
DEFINE_string(
    resume, "",
    "Alone or true: go on from the last checkpoint in --output_dir. auto: from its newest whole checkpoint, or "
    "start a new run where there is none. A path: from that checkpoint.");
DEFINE_string(override, "",
              "Settings of the run to resume that are other now and shall count, comma-separated by their names in "
              "config.json; data: other data or another split; all: whatever has changed.");
DEFINE_bool(overwrite, false, "Replace the run in --output_dir.");
DEFINE_double(
    save_interval, 10,
    "Seconds between writes of best, last and checkpoint, beside training. 0: after each step and epoch, which wait.");
DEFINE_int64(keep_every_epochs, 0, "Keep a checkpoint of every so many epochs, numbered. 0: only the last.");
DEFINE_int64(keep_every_steps, 0, "Keep a checkpoint of every so many steps, numbered. 0: only the last.");
DEFINE_string(keep_every_time, "", "Keep a checkpoint after so much time (DD:HH:MM:SS, 10m), numbered by steps.");
DEFINE_int64(
    save_top_k, 0,
    "Keep the checkpoints of so many of the best validations, top-epoch-E-step-S. -1: of all. best.safetensors "
    "is written anyway.");
DEFINE_int64(average_best, 0,
             "Write the mean of the parameters of so many of the best validations as "
             "average.safetensors. 0: none.");

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
