#include "tools/train/flags/preset_flags.h"

#include <gflags/gflags.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/train/files/checkpoint_series.h"
#include "lib/train/files/run_directory.h"
#include "lib/train/options/trainer_options.h"
#include "tools/common/run/flag_choice.h"
#include "tools/common/run/given_flags.h"
#include "tools/train/trainer_flags/checkpoint_flags.h"

DEFINE_string(preset, "default",
              "Defaults of other flags: default or aenet. With aenet, potentials have those of aenet (--ang_cutoff=4 "
              "--ang_order=3 --hidden=15,15 "
              "--activation=tanh --batch_size=32 --learning_rate=0.001 --lr_scheduler=constant --force_weight=0), and "
              "all embedding models but conve --kge_loss=1-N --input_dropout=0.2 (transe and rotate: 0). A run that is "
              "resumed keeps its own.");

namespace rutile {
namespace {

constexpr char kPreset[] = "preset";

std::optional<CheckpointSummary> FirstWhole(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (!FileExists(path)) continue;
    absl::StatusOr<CheckpointSummary> checkpoint = ReadCheckpointSummary(path);
    if (checkpoint.ok()) return *std::move(checkpoint);
  }
  return std::nullopt;
}

std::tuple<int64_t, int64_t, int64_t> PlaceOf(const CheckpointSummary& checkpoint) {
  return {checkpoint.step, checkpoint.epoch, checkpoint.batch};
}

}  // namespace

std::optional<CheckpointSummary> CheckpointOfRun(const std::string& directory, const TrainerOptions& options) {
  if (options.mode != RunMode::kResume && options.mode != RunMode::kResumeOrNew) return std::nullopt;
  if (!options.resume_from.empty()) return FirstWhole({options.resume_from});
  const RunDirectory run(directory);
  std::optional<CheckpointSummary> found = FirstWhole({run.checkpoint(), run.previous()});
  if (found.has_value()) return found;
  // The trainer goes on from the newest of the numbered ones, then.
  for (const std::string& path : run.NumberedCheckpoints()) {
    std::optional<CheckpointSummary> numbered = FirstWhole({path});
    if (numbered.has_value() && (!found.has_value() || PlaceOf(*numbered) > PlaceOf(*found))) {
      found = std::move(numbered);
    }
  }
  return found;
}

absl::StatusOr<std::optional<CheckpointSummary>> CheckpointToResume() {
  TrainerOptions options;
  RETURN_IF_ERROR(SetResumingFromFlags(&options));
  std::string committee, directory = OutputDirFromFlags();
  if (gflags::GetCommandLineOption("committee", &committee) && committee != "1") directory += "/member-00";
  return CheckpointOfRun(directory, options);
}

absl::StatusOr<Preset> PresetFromFlags(const std::optional<CheckpointSummary>& resumed) {
  ASSIGN_OR_RETURN(const Preset preset, ParseFlagChoice("preset", FLAGS_preset, kPresetNames));
  if (FlagGiven("preset") || !resumed.has_value()) return preset;
  // Versions without presets recorded none.
  const auto recorded = resumed->task.find(kPreset);
  return recorded == resumed->task.end() ? Preset::kAenet : kPresetNames.Parse(recorded->second);
}

void RecordPreset(Preset preset, TrainerOptions* options) {
  if (preset != Preset::kAenet) options->config[kPreset] = std::string(kPresetNames.Name(preset));
}

Preset RecordedPreset(const TrainerOptions& options) {
  const auto recorded = options.config.find(kPreset);
  return recorded == options.config.end() ? Preset::kAenet : kPresetNames.Parse(recorded->second).value();
}

DescriptorDefaults DescriptorDefaultsOf(Preset preset) {
  return preset == Preset::kAenet ? DescriptorDefaults::kAenet : DescriptorDefaults::kTwoParts;
}

TrainerDefaults PotentialTrainerDefaults(Preset preset) {
  TrainerDefaults defaults;
  if (preset == Preset::kAenet) return defaults;
  defaults.batch_size = 8;
  defaults.adam_learning_rate = 0.01;
  defaults.schedule = ScheduleKind::kCosine;
  return defaults;
}

}  // namespace rutile
