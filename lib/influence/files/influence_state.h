// Converts the progress of a computation of influence to a state that can be stored in a file, and back.

#ifndef RUTILE_LIB_INFLUENCE_FILES_INFLUENCE_STATE_H_
#define RUTILE_LIB_INFLUENCE_FILES_INFLUENCE_STATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/influence/tracin.h"

namespace rutile {

// The position of a computation and its results so far.
struct InfluenceProgress {
  int64_t pass = 0;      // completed passes over the training examples
  int64_t position = 0;  // training examples done in the current pass
  Influence done;        // results of completed passes; train_order and train_self: of the training examples so far
  Influence open;        // lists of the current pass
};

// Makes a state of the progress.
InfluenceState PackInfluenceState(absl::string_view fingerprint, const InfluenceProgress& progress);

// Restores the progress. INVALID_ARGUMENT if the fingerprint differs or tensors are damaged (InfluenceFromTensors). The
// caller, who knows the examples, checks whether the position is possible.
absl::StatusOr<InfluenceProgress> UnpackInfluenceState(const InfluenceState& state, absl::string_view fingerprint,
                                                       const std::vector<std::string>& part_names);

}  // namespace rutile

#endif  // RUTILE_LIB_INFLUENCE_FILES_INFLUENCE_STATE_H_
