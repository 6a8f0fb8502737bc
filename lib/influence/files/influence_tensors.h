// Converts influence to tensors, for files and for the state of a computation, and back.

#ifndef RUTILE_LIB_INFLUENCE_FILES_INFLUENCE_TENSORS_H_
#define RUTILE_LIB_INFLUENCE_FILES_INFLUENCE_TENSORS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/influence/tracin.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Adds a tensor for each member that is not empty ("tests", "offset", "train", "score" and "train_order" always),
// called `prefix` + the member's name.
void InfluenceToTensors(const Influence& influence, absl::string_view prefix, NamedTensors* tensors);

// Restores influence from such tensors; part_names are not stored in them. INVALID_ARGUMENT naming a tensor of the
// wrong type or size, or one whose entries break a rule: offsets that do not ascend from 0 to the number of entries,
// example numbers below 0 (a test may be -1, the weighted sum of tests), a score that is not finite.
absl::StatusOr<Influence> InfluenceFromTensors(const NamedTensors& tensors, absl::string_view prefix,
                                               std::vector<std::string> part_names);

}  // namespace rutile

#endif  // RUTILE_LIB_INFLUENCE_FILES_INFLUENCE_TENSORS_H_
