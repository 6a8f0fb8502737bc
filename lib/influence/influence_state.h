// How far a computation of influence is, as what can be kept in a file.

#ifndef RUTILE_LIB_INFLUENCE_INFLUENCE_STATE_H_
#define RUTILE_LIB_INFLUENCE_INFLUENCE_STATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/influence/tracin.h"

namespace rutile {

struct InfluenceProgress {
  int64_t pass = 0;      // passes done over the training examples
  int64_t position = 0;  // training examples done in the pass at hand
  Influence done;        // of passes done; train_order and train_self: of the training examples so far
  Influence open;        // lists of the pass at hand
};

InfluenceState PackInfluenceState(absl::string_view fingerprint, const InfluenceProgress& progress);

// INVALID_ARGUMENT: another fingerprint, or tensors that are damaged (InfluenceFromTensors). Whether the place fits the
// rest is for the caller, who knows the examples.
absl::StatusOr<InfluenceProgress> UnpackInfluenceState(const InfluenceState& state, absl::string_view fingerprint,
                                                       const std::vector<std::string>& part_names);

}  // namespace rutile

#endif  // RUTILE_LIB_INFLUENCE_INFLUENCE_STATE_H_
