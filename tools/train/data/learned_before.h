// Finds structures that judge a run of --init_from though its model learned them.

#ifndef RUTILE_TOOLS_TRAIN_DATA_LEARNED_BEFORE_H_
#define RUTILE_TOOLS_TRAIN_DATA_LEARNED_BEFORE_H_

#include <string>

#include "absl/status/statusor.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/train/options/split.h"

namespace rutile {

// Compares the validation and the test set with train_frames.txt beside the model of --init_from, by the content of
// structures (lib/structure/structure_hash.h, for which labels do not count). Returns a warning with the number of
// those that the model learned, and with flags that keep the sets of its run, where `data` has all their structures;
// "" without the flag, without such a list, or if none was learned. INVALID_ARGUMENT: the errors of InitialFiles.
absl::StatusOr<std::string> DescribeLearnedBefore(const AtomicData& data, const Split& split);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_DATA_LEARNED_BEFORE_H_
