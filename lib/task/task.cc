#include "lib/task/task.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "lib/task/torch/reference_gradients.h"

namespace rutile {

absl::Status Task::SetState(const NamedTensors& state) {
  if (state.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("it holds '", state.begin()->first, "' of the task, which keeps nothing"));
}

int64_t Task::num_parameters() const {
  int64_t end = 0;
  for (const ParameterSlice& slice : parameter_slices()) end = std::max(end, slice.offset + slice.num_elements());
  return end;
}

absl::Status Task::AccumulateGradients(const Tensor& parameters, const NamedTensors& batch,
                                       absl::Span<Tensor> gradients, TermSums* sums) {
  return ReferenceGradients(*this, parameters, batch, gradients, sums);
}

}  // namespace rutile
