// From files and flags to the data of a run, with what is kept of them in memory.

#ifndef RUTILE_TOOLS_TRAIN_FLAGS_DATA_FLAGS_H_
#define RUTILE_TOOLS_TRAIN_FLAGS_DATA_FLAGS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/descriptor/descriptor_options.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/model/task_options.h"
#include "lib/train/options/trainer_options.h"
#include "tools/common/flags/descriptor_flags.h"
#include "tools/train/flags/potential_choice.h"

namespace rutile {

// True if no flag but --species describes the descriptor.
bool DescriptorIsOpen();

// Reads the inputs by the descriptor's flags, those of selection_flags.h and structure_flags.h, and --config_weights.
// atomic_energies: those of the flags. of_model: the descriptor of the model that the run starts from, which structures
// get, with the species of the flags; null without one. defaults, choice: of a descriptor of which no flag, file or
// model says more. INVALID_ARGUMENT: the errors of AtomicData::Read, flags that contradict what files recorded or the
// model has, or have no effect on them, and a limit of energies less the atomic energies where some elements have none.
absl::StatusOr<AtomicData> ReadTrainingData(absl::Span<const std::string> inputs,
                                            const std::map<uint8_t, double>& atomic_energies,
                                            DescriptorDefaults defaults, PotentialChoice choice,
                                            const DescriptorOptions* of_model);

// Returns the flags of ReadTrainingData that decide what is learned from the same files, for TrainerOptions::config: by
// their names, those alone that differ from the default.
std::map<std::string, std::string> DataConfig(const AtomicData& data);

// By --cached_features, --cache_neighbors, --cache_triplets, --cache_geometry, --cache_max_bytes, --cache_dir: finds
// neighbors and keeps them in the data, and sets options->cached_features and geometry_bytes. What is not said is kept
// where it saves time and there is room. The result is what there is to say of it, a message each. INVALID_ARGUMENT: a
// cache that was asked for and would serve nothing, or for which there is no room.
absl::StatusOr<std::vector<std::string>> CacheFromFlags(const TrainerOptions& trainer, AtomicData* data,
                                                        AtomisticTaskOptions* options);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_FLAGS_DATA_FLAGS_H_
