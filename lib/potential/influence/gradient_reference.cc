#include "lib/potential/influence/gradient_reference.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/potential/data/geometry.h"
#include "lib/potential/training/reference/force_reference.h"
#include "lib/structure/cell.h"
#include "lib/tensorfile/tensorfile_torch.h"

namespace rutile {
namespace {

at::Tensor ErrorLosses(LossKind kind, double delta, const at::Tensor& error) {
  if (kind != LossKind::kHuber) return error * error;
  return at::where(error.abs() <= delta, 0.5 * error * error, delta * (error.abs() - 0.5 * delta));
}

at::Tensor Reference(absl::Span<const double> values, at::IntArrayRef shape) {
  return ToTorch(Tensor::Of(values, shape.vec()));
}

// Returns the quantity as a scalar with a graph.
at::Tensor Quantity(const ReferencePrediction& predicted, const LossOptions& loss, const TermWeights& weights,
                    const Potential& potential, const AtomicData& data, const GradientExample& example) {
  const int64_t s = example.structure, n = data.num_atoms(s);
  switch (example.quantity) {
    case PotentialQuantity::kEnergy:
      return predicted.energy_per_atom[0] * static_cast<double>(n);
    case PotentialQuantity::kForceComponent:
      return predicted.force[example.atom][example.component];
    case PotentialQuantity::kAtomForce:
      return (predicted.force[example.atom] - Reference(data.force(s).subspan(3 * example.atom, 3), {3}))
          .square()
          .sum();
    case PotentialQuantity::kLoss:
      break;
  }
  const ExampleTerms terms = TermsOf(data, example, weights);
  at::Tensor sum = 0.0 * predicted.energy_per_atom[0];
  if (terms.energy) {
    const at::Tensor error = predicted.energy_per_atom[0] - EnergyTarget(potential, data, s);
    sum = sum + weights.energy * ErrorLosses(loss.kind, loss.energy_delta, error);
  }
  if (terms.force) {
    const at::Tensor error = predicted.force - Reference(data.force(s), {n, 3});
    sum = sum + weights.force * ErrorLosses(loss.kind, loss.force_delta, error).sum();
  }
  if (terms.stress) {
    const at::Tensor error = predicted.stress[0] - Reference(data.stress(s), {3, 3});
    sum = sum + weights.stress * ErrorLosses(loss.kind, loss.stress_delta, error).sum();
  }
  return data.weight(s) * sum;
}

Tensor Features(const AtomicData& data, int64_t s) {
  const std::vector<int64_t> shape = {data.num_atoms(s), data.descriptor().num_features()};
  return data.feature_dtype() == DType::kF64 ? Tensor::Of(data.features<double>(s), shape)
                                             : Tensor::Of(data.features<float>(s), shape);
}

}  // namespace

absl::StatusOr<NamedTensors> ReferenceBatch(const Potential& potential, const AtomicData& data, int64_t structure,
                                            bool geometry) {
  const int64_t n = data.num_atoms(structure);
  NamedTensors batch;
  batch.Set("species", Tensor::Of(data.species(structure), {n}));
  batch.Set("atom_offset", Tensor::Of(std::vector<int64_t>{0, n}));
  batch.Set(
      "target",
      Tensor::Of(std::vector<double>{data.has_energy(structure) ? EnergyTarget(potential, data, structure) : 0.0}));
  batch.Set("position", Tensor::Of(data.position(structure), {n, 3}));
  const Matrix3 cell = data.cell(structure);
  batch.Set("cell", Tensor::Of(absl::MakeConstSpan(cell.data(), 9), {1, 3, 3}));
  batch.Set("has_geometry", Tensor::Of(absl::Span<const bool>(&geometry, 1), {1}));
  if (!geometry) {
    batch.Set("feature", Features(data, structure));
    return batch;
  }
  PairMemory memory;
  ASSIGN_OR_RETURN(const StructureGeometry found, GeometryOf(data, structure, &memory));
  const PairView& pairs = found.pairs;
  const int64_t count = pairs.num_pairs(), first = count == 0 ? 0 : pairs.offset[0];
  std::vector<int64_t> offset(n + 1, 0);
  std::vector<int32_t> j(count);
  for (int64_t i = 0; count > 0 && i <= n; ++i) offset[i] = pairs.offset[i] - first;
  for (int64_t p = 0; p < count; ++p) j[p] = pairs.j[first + p] - pairs.first_atom;
  batch.Set("pair_offset", Tensor::Of(offset));
  batch.Set("pair_j", Tensor::Of(j));
  batch.Set("pair_shift", Tensor::Of(absl::MakeConstSpan(pairs.shift + 3 * first, 3 * count), {count, 3}));
  return batch;
}

absl::Status ReferenceExampleGradient(const Potential& potential, const LossOptions& loss, const TermWeights& weights,
                                      const AtomicData& data, const GradientExample& example,
                                      absl::Span<double> gradient) {
  CHECK_EQ(gradient.size(), potential.shape.num_parameters());
  std::fill(gradient.begin(), gradient.end(), 0.0);
  const ExampleTerms terms = TermsOf(data, example, weights);
  if (!terms.any()) return absl::OkStatus();
  if (terms.stress && !(CellVolume(data.cell(example.structure)) > 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("structure ", data.name(example.structure), " has a stress, but its cell has no volume"));
  }
  ASSIGN_OR_RETURN(const NamedTensors batch,
                   ReferenceBatch(potential, data, example.structure, terms.derivatives() || !data.has_features()));
  const c10::AutoGradMode enabled(true);
  const at::Tensor parameters = ToTorch(Tensor::Of(potential.parameters.ToDoubles())).clone().requires_grad_(true);
  const ReferencePrediction predicted =
      PredictReference(potential.descriptor, potential.shape, potential.feature_scaling, potential.energy_scaling,
                       parameters, batch, terms.derivatives());
  const at::Tensor result =
      torch::autograd::grad({Quantity(predicted, loss, weights, potential, data, example)}, {parameters},
                            /*grad_outputs=*/{}, /*retain_graph=*/false, /*create_graph=*/false,
                            /*allow_unused=*/true)[0];
  if (!result.defined()) return absl::OkStatus();
  std::copy_n(result.contiguous().data_ptr<double>(), gradient.size(), gradient.begin());
  return absl::OkStatus();
}

}  // namespace rutile
