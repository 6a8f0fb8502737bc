// The definition of AtomisticTask's loss. A file of its own, so that LibTorch is included in one place only.

#include <ATen/ATen.h>

#include "lib/potential/atomistic_task.h"
#include "lib/potential/network_reference.h"
#include "lib/tensorfile/tensorfile_torch.h"

namespace rutile {

at::Tensor AtomisticTask::ExampleLosses(const at::Tensor& parameters, const NamedTensors& batch) const {
  const at::Tensor sums = ReferenceEnergySums(shape_, parameters, batch.At("x"), batch.At("species_offset"),
                                              batch.At("structure"), batch.At("target").num_elements());
  const at::Tensor predicted = sums / (energy_scaling_.scale * ToTorch(batch.At("num_atoms"))) + energy_scaling_.shift;
  const at::Tensor error = predicted - ToTorch(batch.At("target"));
  at::Tensor loss = error * error;
  if (options_.loss == EnergyLoss::kHuber) {
    const double delta = options_.huber_delta;
    loss = at::where(error.abs() <= delta, 0.5 * loss, delta * (error.abs() - 0.5 * delta));
  }
  return loss.unsqueeze(1);
}

}  // namespace rutile
