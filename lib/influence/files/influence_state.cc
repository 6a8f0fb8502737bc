#include "lib/influence/files/influence_state.h"

#include "absl/status/status.h"
#include "lib/base/status_macros.h"
#include "lib/influence/files/influence_tensors.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

InfluenceState PackInfluenceState(absl::string_view fingerprint, const InfluenceProgress& progress) {
  InfluenceState state;
  state.fingerprint = std::string(fingerprint);
  state.tensors.Set("place", Tensor::Of(std::vector<int64_t>{progress.pass, progress.position}));
  InfluenceToTensors(progress.done, "done.", &state.tensors);
  InfluenceToTensors(progress.open, "open.", &state.tensors);
  return state;
}

absl::StatusOr<InfluenceProgress> UnpackInfluenceState(const InfluenceState& state, absl::string_view fingerprint,
                                                       const std::vector<std::string>& part_names) {
  if (state.fingerprint != fingerprint) {
    return absl::InvalidArgumentError(
        "the state is of another computation: of other examples, tests, rates or options");
  }
  const Tensor* place = state.tensors.Find("place");
  if (place == nullptr || place->dtype() != DType::kI64 || place->num_elements() != 2) {
    return absl::InvalidArgumentError("tensor \"place\": expected two I64");
  }
  InfluenceProgress progress;
  progress.pass = place->values<int64_t>()[0];
  progress.position = place->values<int64_t>()[1];
  ASSIGN_OR_RETURN(progress.done, InfluenceFromTensors(state.tensors, "done.", part_names));
  ASSIGN_OR_RETURN(progress.open, InfluenceFromTensors(state.tensors, "open.", part_names));
  return progress;
}

}  // namespace rutile
