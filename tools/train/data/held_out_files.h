// Structures of files that are a validation or test set by themselves: --validation_data and --test_data.

#ifndef RUTILE_TOOLS_TRAIN_DATA_HELD_OUT_FILES_H_
#define RUTILE_TOOLS_TRAIN_DATA_HELD_OUT_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/train/options/split.h"
#include "tools/common/flags/split_flags.h"

namespace rutile {

// Returns the places in the data of all structures of these files. INVALID_ARGUMENT: filters left out all of them.
absl::StatusOr<std::vector<int64_t>> PlacesOfFiles(const AtomicData& data, absl::Span<const std::string> files);

// Returns [structures] true for those of either set's files; empty without files.
std::vector<bool> HeldOut(const AtomicData& data, const SplitFiles& files);

// INVALID_ARGUMENT naming the flag that chose files, a list or a key of which nothing is left to compare with.
absl::Status CheckHeldOut(const SplitFiles& files, const Split& split);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_DATA_HELD_OUT_FILES_H_
