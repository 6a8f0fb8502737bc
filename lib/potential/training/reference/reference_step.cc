#include "lib/potential/training/reference/reference_step.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <cstdint>

#include "lib/potential/training/reference/autograd_reference.h"
#include "lib/potential/training/reference/force_reference.h"
#include "lib/tensorfile/tensorfile_torch.h"

namespace rutile {

ReferenceStep ComputeReferenceStep(const ReferenceModel& model, absl::Span<const double> parameters,
                                   const NamedTensors& batch, double force_weight, ReferenceMethod method) {
  const Tensor copy = Tensor::Of<double>(parameters, {static_cast<int64_t>(parameters.size())});
  const at::Tensor leaf = ToTorch(copy).requires_grad_(true);
  const auto predict = [&](const auto& by) {
    return by(model.descriptor, model.shape, model.feature_scaling, model.energy_scaling, leaf, batch, true);
  };
  const ReferencePrediction prediction =
      method == ReferenceMethod::kDerivatives
          ? predict([](const auto&... arguments) { return PredictReference(arguments...); })
          : predict([](const auto&... arguments) { return PredictByAutograd(arguments...); });

  const at::Tensor energy_rmse = (prediction.energy_per_atom - ToTorch(batch.At("target"))).square().mean().sqrt();
  const int64_t num_atoms = prediction.force.size(0);
  const at::Tensor sampled = at::nonzero(ToTorch(batch.At("force_sampled")).narrow(0, 0, num_atoms)).view({-1});
  at::Tensor force_rmse = at::zeros({}, at::kDouble);
  if (sampled.numel() > 0) {
    const at::Tensor error = prediction.force - ToTorch(batch.At("force")).narrow(0, 0, num_atoms);
    force_rmse = error.index_select(0, sampled).square().mean().sqrt();
  }
  const at::Tensor loss = (1 - force_weight) * energy_rmse + force_weight * force_rmse;
  const Tensor gradient = FromTorch(torch::autograd::grad({loss}, {leaf})[0]);

  ReferenceStep step;
  step.energy_rmse = energy_rmse.item<double>();
  step.force_rmse = force_rmse.item<double>();
  step.loss = loss.item<double>();
  step.gradient = gradient.ToDoubles();
  step.gradient_norm = ToTorch(gradient).norm().item<double>();
  return step;
}

}  // namespace rutile
