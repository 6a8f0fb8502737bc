// Influence as tensors: the content of files and of the state of a computation.

#ifndef RUTILE_LIB_INFLUENCE_INFLUENCE_TENSORS_H_
#define RUTILE_LIB_INFLUENCE_INFLUENCE_TENSORS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/influence/tracin.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Adds the tensors of the members that are not empty ("tests", "offset", "train", "score" and "train_order" always)
// under the members' names after `prefix`.
void InfluenceToTensors(const Influence& influence, absl::string_view prefix, NamedTensors* tensors);

// The way back; part_names are not among the tensors. INVALID_ARGUMENT naming a tensor of the wrong type or size, or
// one whose entries break a rule: offsets that do not ascend from 0 to the entries' number, numbers of examples below 0
// (a test may be -1, the weighted sum of tests), a score that is not finite.
absl::StatusOr<Influence> InfluenceFromTensors(const NamedTensors& tensors, absl::string_view prefix,
                                               std::vector<std::string> part_names);

}  // namespace rutile

#endif  // RUTILE_LIB_INFLUENCE_INFLUENCE_TENSORS_H_
