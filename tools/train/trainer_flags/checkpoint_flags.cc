#include "tools/train/trainer_flags/checkpoint_flags.h"

#include <gflags/gflags.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_split.h"
#include "lib/base/status_macros.h"
#include "lib/train/files/run_directory.h"
#include "lib/train/options/trainer_settings.h"
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

namespace rutile {
namespace {

const bool resume_may_stand_alone = MayStandAlone("resume");

}  // namespace

std::string OutputDirFromFlags() { return FLAGS_output_dir; }

const SettingFlags<TrainerOptions>& CheckpointFlags() {
  static const auto* flags = new SettingFlags<TrainerOptions>(CheckpointSettings(), __FILE__);
  return *flags;
}

namespace {

const bool registered = CheckpointFlags().Register();

}  // namespace

absl::Status SetResumingFromFlags(TrainerOptions* options) {
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

}  // namespace rutile
