// Defines ForceTask's loss. It has a file of its own, so that LibTorch is included in one place only.

#include <ATen/ATen.h>

#include "lib/potential/training/force_batch.h"
#include "lib/potential/training/force_task.h"
#include "lib/potential/training/reference/force_reference.h"
#include "lib/tensorfile/tensorfile_torch.h"

namespace rutile {
namespace {

at::Tensor ErrorLosses(LossKind kind, double delta, const at::Tensor& error) {
  if (kind != LossKind::kHuber) return error * error;
  return at::where(error.abs() <= delta, 0.5 * error * error, delta * (error.abs() - 0.5 * delta));
}

// Returns the first `count` rows of a tensor that may have more.
at::Tensor Rows(const NamedTensors& batch, const char* name, int64_t count, const at::Device& device) {
  return ToTorch(batch.At(name), device).narrow(0, 0, count);
}

}  // namespace

at::Tensor ForceTask::ExampleLosses(const at::Tensor& parameters, const NamedTensors& batch) const {
  return EagerLosses(parameters, batch, EagerOptions());
}

at::Tensor ForceTask::EagerLosses(const at::Tensor& parameters, const NamedTensors& batch,
                                  const EagerOptions& options) const {
  const LossOptions& loss = options_.loss;
  const at::Device device = parameters.device();
  const auto read = [&](const char* name) { return ToTorch(batch.At(name), device); };
  const NamedTensors whole = maker_->WithGeometry(batch);
  const ReferencePrediction predicted =
      PredictReference(model_.descriptor(), model_.shape(), model_.feature_scaling(), model_.energy_scaling(),
                       parameters, whole, forces() || stress(), options);
  const int64_t b = batch.At("target").num_elements();
  const int64_t a = batch.At("atom_offset").values<int64_t>()[b];
  const at::Tensor weight = read("weight");
  std::vector<at::Tensor> terms;
  const at::Tensor energy_error = predicted.energy_per_atom - read("target");
  const at::Tensor has_energy = read("has_energy").to(at::kDouble);
  terms.push_back(weight * has_energy * ErrorLosses(loss.kind, loss.energy_delta, energy_error));
  if (forces()) {
    const at::Tensor counts = Rows(batch, "force_sampled", a, device).to(at::kDouble).unsqueeze(1);
    const at::Tensor error = predicted.force - Rows(whole, "force", a, device);
    const at::Tensor of_atoms = (counts * ErrorLosses(loss.kind, loss.force_delta, error)).sum(1);
    const at::Tensor sums = at::zeros({b}, at::TensorOptions(at::kDouble).device(device));
    terms.push_back(weight * sums.index_add(0, StructureOfAtoms(batch).to(device), of_atoms));
  }
  if (stress()) {
    const at::Tensor counts = read("has_stress").to(at::kDouble);
    const at::Tensor error = predicted.stress - read("stress");
    terms.push_back(weight * counts * ErrorLosses(loss.kind, loss.stress_delta, error).sum(c10::IntArrayRef({1, 2})));
  }
  return at::stack(terms, 1);
}

}  // namespace rutile
