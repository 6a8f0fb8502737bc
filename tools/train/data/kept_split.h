// Which set each structure of a resumed run was in, and whether the run goes on with the same data.

#ifndef RUTILE_TOOLS_TRAIN_DATA_KEPT_SPLIT_H_
#define RUTILE_TOOLS_TRAIN_DATA_KEPT_SPLIT_H_

#include <cstdint>
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
// structures that can be in a set: the others, which are atoms alone or have weight 0 or no energy, are in `train`
// then, from where the caller takes them out. Nothing if no such run is resumed, its validation set is its training
// set, or its lists do not say what their structures are; under --override the last is warned of. directory: of the run
// that is written.
absl::StatusOr<std::optional<Split>> KeptSplit(const std::string& directory, const TrainerOptions& options,
                                               const AtomicData& data);

// True if `options` resumes a run whose checkpoint says that it learns from the inputs of options.data_sha256, and in
// the sets of `split`: whatever is to be said of them, the run has said when it began. False if settings are
// overridden.
bool ResumesSameData(const std::string& directory, const TrainerOptions& options, int64_t num_structures,
                     const Split& split);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_DATA_KEPT_SPLIT_H_
