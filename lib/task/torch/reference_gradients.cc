#include "lib/task/torch/reference_gradients.h"

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/task/torch/eager_gradients.h"

namespace rutile {

absl::Status ReferenceGradients(const Task& task, const Tensor& parameters, const NamedTensors& batch,
                                absl::Span<Tensor> gradients, TermSums* sums) {
  return EagerGradients(task, EagerOptions()).Add(parameters, batch, /*scale=*/1, gradients, sums);
}

}  // namespace rutile
