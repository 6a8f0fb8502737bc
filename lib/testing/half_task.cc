#include "lib/testing/half_task.h"

#include <ATen/ATen.h>

namespace rutile {

at::Tensor HalfTask::EagerLosses(const at::Tensor& parameters, const NamedTensors& batch,
                                 const EagerOptions& options) const {
  const at::Tensor losses = ExampleLosses(parameters, batch);
  const at::Tensor half = broken ? (losses - losses.detach()).sqrt() : losses.to(at::kHalf).to(at::kDouble);
  return losses.detach() + (half - half.detach());
}

}  // namespace rutile
