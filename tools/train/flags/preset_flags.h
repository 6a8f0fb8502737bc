// --preset: which defaults the other flags of train have.

#ifndef RUTILE_TOOLS_TRAIN_FLAGS_PRESET_FLAGS_H_
#define RUTILE_TOOLS_TRAIN_FLAGS_PRESET_FLAGS_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/base/enum_names.h"
#include "lib/train/files/checkpoint_series.h"
#include "lib/train/options/trainer_options.h"
#include "tools/common/flags/descriptor_flags.h"
#include "tools/train/trainer_flags/trainer_flags.h"

namespace rutile {

enum class Preset {
  kDefault,  // the best recipe that was found for most data (docs/tried.md)
  kAenet     // aenet's of 2016, and on triples those of the papers; all that there was before --preset
};

inline constexpr absl::string_view kPresetWords[] = {"default", "aenet"};
inline constexpr EnumNames<Preset> kPresetNames("no preset", kPresetWords);

// Returns the checkpoint that the run in `directory` goes on from, which the trainer takes, too; nullopt for a new run,
// and where none can be read.
std::optional<CheckpointSummary> CheckpointOfRun(const std::string& directory, const TrainerOptions& options);

// Returns the checkpoint of the run that the flags would continue, or nothing. Files that cannot be read are left to
// the trainer, which says what is wrong with them. Errors: those of the flags of resuming.
absl::StatusOr<std::optional<CheckpointSummary>> CheckpointToResume();

// A run that goes on has the preset that it began with, unless the flag is given. resumed: CheckpointToResume's.
// INVALID_ARGUMENT for another name.
absl::StatusOr<Preset> PresetFromFlags(const std::optional<CheckpointSummary>& resumed);

// For a run that goes on. What nobody has recorded is kAenet.
void RecordPreset(Preset preset, TrainerOptions* options);
Preset RecordedPreset(const TrainerOptions& options);

DescriptorDefaults DescriptorDefaultsOf(Preset preset);
// Returns the defaults of a potential's run. Those of triples are in kge_flags.h.
TrainerDefaults PotentialTrainerDefaults(Preset preset);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_FLAGS_PRESET_FLAGS_H_
