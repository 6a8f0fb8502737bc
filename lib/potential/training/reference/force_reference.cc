#include "lib/potential/training/reference/force_reference.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "lib/base/logging.h"
#include "lib/descriptor/descriptor_derivatives.h"
#include "lib/descriptor/moment_reference.h"
#include "lib/descriptor/reference_derivatives.h"
#include "lib/many_body/many_body_reference.h"
#include "lib/neighbor/pair_view.h"
#include "lib/potential/training/reference/message_reference.h"
#include "lib/structure/cell.h"
#include "lib/structure/structure.h"
#include "lib/tensorfile/tensorfile_torch.h"

namespace rutile {
namespace {

int64_t NumStructures(const NamedTensors& batch) { return batch.At("target").num_elements(); }

absl::Span<const int64_t> AtomOffset(const NamedTensors& batch) {
  return batch.At("atom_offset").values<int64_t>().subspan(0, NumStructures(batch) + 1);
}

int64_t NumAtoms(const NamedTensors& batch) { return AtomOffset(batch).back(); }

// Returns [B] atoms of each structure, fp64: a number times an integer tensor would be fp32.
at::Tensor AtomCounts(const NamedTensors& batch) {
  return ToTorch(batch.At("atom_offset")).narrow(0, 0, NumStructures(batch) + 1).diff().to(at::kDouble);
}

Matrix3 Cell(const NamedTensors& batch, int64_t b) {
  Matrix3 cell;
  std::copy_n(batch.At("cell").values<double>().data() + 9 * b, 9, cell.begin());
  return cell;
}

std::unique_ptr<const DescriptorDerivatives<double>> MakePlainDerivatives(const DescriptorOptions& options) {
  if (!options.is_chebyshev()) return MakeMomentReference<double>(options.moments());
  return MakeReferenceDerivatives<double>(options.chebyshev());
}

// The linear map from q [A, F] to [3A + 9B], the forces followed by the derivatives by strain, and its transpose.
class BatchJacobian {
 public:
  BatchJacobian(const DescriptorOptions& options, const NamedTensors& batch)
      : derivatives_(MakePlainDerivatives(options)),
        num_features_(derivatives_->num_features()),
        atom_offset_(AtomOffset(batch).begin(), AtomOffset(batch).end()),
        states_(atom_offset_.size() - 1),
        features_(at::zeros({num_atoms(), num_features_}, at::kDouble)) {
    const absl::Span<const bool> has_geometry = batch.At("has_geometry").values<bool>();
    for (int64_t b = 0; b < num_structures(); ++b) {
      if (has_geometry[b]) {
        AddGeometry(batch, b);
      } else {
        const at::Tensor rows = ToTorch(batch.At("feature")).narrow(0, atom_offset_[b], atoms(b));
        features_.narrow(0, atom_offset_[b], atoms(b)).copy_(rows);
      }
    }
  }

  const at::Tensor& features() const { return features_; }
  int64_t num_atoms() const { return atom_offset_.back(); }
  int64_t num_structures() const { return static_cast<int64_t>(states_.size()); }

  at::Tensor Apply(const at::Tensor& slopes) const {
    CHECK(slopes.sizes() == features_.sizes()) << slopes.sizes();
    const at::Tensor in = slopes.cpu().contiguous();
    at::Tensor out = at::zeros({3 * num_atoms() + 9 * num_structures()}, at::kDouble);
    double* const force = out.data_ptr<double>();
    double* const strain = force + 3 * num_atoms();
    for (int64_t b = 0; b < num_structures(); ++b) {
      if (states_[b] == nullptr) continue;
      derivatives_->Vjp(states_[b].get(), Rows(in.data_ptr<double>(), b), {},
                        absl::MakeSpan(force + 3 * atom_offset_[b], 3 * atoms(b)), strain + 9 * b);
    }
    return out.to(slopes.device());
  }

  at::Tensor ApplyTransposed(const at::Tensor& given) const {
    CHECK_EQ(given.numel(), 3 * num_atoms() + 9 * num_structures());
    const at::Tensor direction = given.cpu();
    // Forces are minus the derivative by positions, so the direction changes its sign.
    const at::Tensor moves = -direction.narrow(0, 0, 3 * num_atoms());
    const at::Tensor strains = direction.narrow(0, 3 * num_atoms(), 9 * num_structures()).contiguous();
    at::Tensor out = at::zeros_like(features_);
    for (int64_t b = 0; b < num_structures(); ++b) {
      if (states_[b] == nullptr) continue;
      derivatives_->Jvp(states_[b].get(),
                        absl::MakeConstSpan(moves.data_ptr<double>() + 3 * atom_offset_[b], 3 * atoms(b)), {},
                        strains.data_ptr<double>() + 9 * b, Rows(out.data_ptr<double>(), b));
    }
    return out.to(given.device());
  }

 private:
  int64_t atoms(int64_t b) const { return atom_offset_[b + 1] - atom_offset_[b]; }

  absl::Span<double> Rows(double* all, int64_t b) const {
    return absl::MakeSpan(all + atom_offset_[b] * num_features_, atoms(b) * num_features_);
  }

  void AddGeometry(const NamedTensors& batch, int64_t b) {
    const int64_t first = atom_offset_[b], count = atoms(b);
    StructureGeometry geometry;
    geometry.species = batch.At("species").values<uint8_t>().subspan(first, count);
    geometry.position = batch.At("position").values<double>().subspan(3 * first, 3 * count);
    geometry.cell = Cell(batch, b);
    geometry.pairs.offset = batch.At("pair_offset").values<int64_t>().subspan(first, count + 1);
    geometry.pairs.j = batch.At("pair_j").values<int32_t>().data();
    geometry.pairs.shift = batch.At("pair_shift").values<int16_t>().data();
    geometry.pairs.first_atom = static_cast<int32_t>(first);
    states_[b] = derivatives_->MakeState();
    derivatives_->Features(geometry, states_[b].get(), Rows(features_.data_ptr<double>(), b));
  }

  const std::unique_ptr<const DescriptorDerivatives<double>> derivatives_;
  const int64_t num_features_;
  const std::vector<int64_t> atom_offset_;  // [B + 1]
  // [B] null for structures without geometry
  std::vector<std::unique_ptr<DescriptorDerivatives<double>::State>> states_;
  at::Tensor features_;  // [A, F]
};

// Carries a BatchJacobian from forward to backward.
struct JacobianHolder : torch::CustomClassHolder {
  explicit JacobianHolder(std::shared_ptr<const BatchJacobian> j) : jacobian(std::move(j)) {}
  const std::shared_ptr<const BatchJacobian> jacobian;
};

struct ForcesAndStrain : torch::autograd::Function<ForcesAndStrain> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& slopes,
                            const std::shared_ptr<const BatchJacobian>& jacobian) {
    context->saved_data["jacobian"] = c10::IValue::make_capsule(c10::make_intrusive<JacobianHolder>(jacobian));
    return jacobian->Apply(slopes);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto capsule = context->saved_data["jacobian"].toCapsule();
    const auto& holder = static_cast<const JacobianHolder&>(*capsule);
    return {holder.jacobian->ApplyTransposed(gradients[0]), at::Tensor()};
  }
};

}  // namespace

ReferencePrediction WithoutGraph(const ReferencePrediction& prediction) {
  const auto detach = [](const at::Tensor& tensor) { return tensor.defined() ? tensor.detach() : tensor; };
  return {detach(prediction.energy_per_atom), detach(prediction.force), detach(prediction.stress)};
}

at::Tensor StructureOfAtoms(const NamedTensors& batch) {
  return at::repeat_interleave(AtomCounts(batch).to(at::kLong));
}

at::Tensor ReferenceEnergiesPerAtom(const NetworkShape& shape, const FeatureScaling& feature_scaling,
                                    const EnergyScaling& energy_scaling, const at::Tensor& parameters,
                                    const NamedTensors& batch, const at::Tensor& features, const EagerOptions& eager) {
  const int64_t num_atoms = NumAtoms(batch), num_structures = NumStructures(batch);
  CHECK_EQ(feature_scaling.num_features, shape.num_features);
  CHECK_EQ(feature_scaling.num_species, shape.num_species);
  CHECK(features.sizes() == at::IntArrayRef({num_atoms, shape.num_features})) << features.sizes();
  const auto by_species = [&](const std::vector<double>& values) {
    const at::Tensor species = ToTorch(batch.At("species")).narrow(0, 0, num_atoms).to(at::kLong);
    const at::Tensor table = at::tensor(values, at::kDouble).view({shape.num_species, shape.num_features});
    return table.index_select(0, species).to(features.device());
  };
  const at::Tensor x = (features - by_species(feature_scaling.mean)) * by_species(feature_scaling.scale);
  const at::Tensor outputs =
      ReferenceEnergiesOfAtoms(shape, parameters, x.to(parameters.scalar_type()),
                               batch.At("species").values<uint8_t>().subspan(0, num_atoms), eager);
  const at::Tensor sums = at::zeros({num_structures}, features.options().requires_grad(false))
                              .index_add(0, StructureOfAtoms(batch).to(features.device()), outputs.to(at::kDouble));
  return sums / (energy_scaling.scale * AtomCounts(batch).to(features.device())) + energy_scaling.shift;
}

at::Tensor ReferenceStress(const at::Tensor& strain_gradient, const NamedTensors& batch) {
  std::vector<double> inverse_volume(NumStructures(batch), 0.0);
  for (size_t b = 0; b < inverse_volume.size(); ++b) {
    const double volume = CellVolume(Cell(batch, b));
    if (volume > 0) inverse_volume[b] = 1 / volume;
  }
  const at::Tensor symmetric = 0.5 * (strain_gradient + strain_gradient.transpose(1, 2));
  return symmetric * at::tensor(inverse_volume, at::kDouble).view({-1, 1, 1}).to(strain_gradient.device());
}

ReferencePrediction PredictReference(const DescriptorOptions& options, const NetworkShape& shape,
                                     const FeatureScaling& feature_scaling, const EnergyScaling& energy_scaling,
                                     const at::Tensor& parameters, const NamedTensors& batch, bool forces,
                                     const EagerOptions& eager) {
  const c10::AutoGradMode enabled(true);
  if (shape.has_messages()) {
    const ReferencePrediction out = PredictWithMessages(options.moments(), shape, feature_scaling, energy_scaling,
                                                        parameters, batch, forces, eager);
    return parameters.requires_grad() ? out : WithoutGraph(out);
  }
  const auto jacobian = std::make_shared<const BatchJacobian>(options, batch);
  // The network may run on any device, so it gets a copy of the features there.
  const at::Tensor features = jacobian->features().clone().to(parameters.device()).requires_grad_(forces);
  ReferencePrediction out;
  out.energy_per_atom =
      ReferenceEnergiesPerAtom(shape, feature_scaling, energy_scaling, parameters, batch, features, eager);
  if (forces) {
    const at::Tensor energy = (out.energy_per_atom * AtomCounts(batch).to(features.device())).sum();
    const at::Tensor slopes = torch::autograd::grad({energy}, {features}, /*grad_outputs=*/{}, /*retain_graph=*/true,
                                                    /*create_graph=*/true)[0];
    const at::Tensor all = ForcesAndStrain::apply(slopes, jacobian);
    const int64_t num_atoms = jacobian->num_atoms(), num_structures = jacobian->num_structures();
    out.force = all.narrow(0, 0, 3 * num_atoms).view({num_atoms, 3});
    out.stress = ReferenceStress(all.narrow(0, 3 * num_atoms, 9 * num_structures).view({num_structures, 3, 3}), batch);
  }
  return parameters.requires_grad() ? out : WithoutGraph(out);
}

}  // namespace rutile
