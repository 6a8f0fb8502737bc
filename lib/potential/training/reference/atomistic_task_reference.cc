// Defines AtomisticTask's loss. It has a file of its own, so that LibTorch is included in one place only.

#include <ATen/ATen.h>

#include "lib/network/network_reference.h"
#include "lib/potential/training/atomistic_task.h"
#include "lib/tensorfile/tensorfile_torch.h"

namespace rutile {

at::Tensor AtomisticTask::ExampleLosses(const at::Tensor& parameters, const NamedTensors& batch) const {
  return EagerLosses(parameters, batch, EagerOptions());
}

at::Tensor AtomisticTask::EagerLosses(const at::Tensor& parameters, const NamedTensors& batch,
                                      const EagerOptions& options) const {
  const auto read = [&](const char* name) { return ToTorch(batch.At(name), parameters.device()); };
  const at::Tensor sums = ReferenceEnergySums(model_.shape(), parameters, batch.At("x"), batch.At("species_offset"),
                                              batch.At("structure"), batch.At("target").num_elements(), options);
  const at::Tensor predicted =
      sums / (model_.energy_scaling().scale * read("num_atoms")) + model_.energy_scaling().shift;
  const at::Tensor error = predicted - read("target");
  at::Tensor loss = error * error;
  if (options_.loss.kind == LossKind::kHuber) {
    const double delta = options_.loss.energy_delta;
    loss = at::where(error.abs() <= delta, 0.5 * loss, delta * (error.abs() - 0.5 * delta));
  }
  return (read("weight") * loss).unsqueeze(1);
}

}  // namespace rutile
