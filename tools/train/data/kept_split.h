// Which set each structure of a resumed run was in, when the run goes on with other data.

#ifndef RUTILE_TOOLS_TRAIN_DATA_KEPT_SPLIT_H_
#define RUTILE_TOOLS_TRAIN_DATA_KEPT_SPLIT_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/train/options/split.h"
#include "lib/train/options/trainer_options.h"

namespace rutile {

// Reads the lists of structures of the run that `options` resumes with other data (--override=data or all), and returns
// the places in `data` of the structures that the run knows, by content; a copy of a known structure counts as known.
// A run that went on with other data before keeps its sets in the same way, without --override, if it knows all
// structures. Nothing if no such run is resumed, its validation set is its training set, or its lists do not say what
// their structures are; under --override the last is warned of. directory: of the run that is written.
absl::StatusOr<std::optional<Split>> KeptSplit(const std::string& directory, const TrainerOptions& options,
                                               const AtomicData& data);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_DATA_KEPT_SPLIT_H_
