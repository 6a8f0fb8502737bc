#include "lib/network/network_reference.h"

#include <ATen/ATen.h>

#include <vector>

#include "lib/base/logging.h"
#include "lib/network/network_script.h"
#include "lib/task/precision.h"
#include "lib/tensorfile/tensorfile_torch.h"

namespace rutile {
namespace {

at::Tensor Activate(Activation activation, const at::Tensor& z) {
  switch (activation) {
    case Activation::kLinear:
      return z;
    case Activation::kTanh:
      return at::tanh(z);
    case Activation::kSigmoid:
      return at::sigmoid(z);
    case Activation::kMtanh:
      return 1.7159 * at::tanh(z * (2.0 / 3.0));
    case Activation::kTwist:
      return 1.7159 * at::tanh(z * (2.0 / 3.0)) + 0.1 * z;
    case Activation::kSilu:
      return z * at::sigmoid(z);
  }
  LOG(FATAL) << "no such activation: " << static_cast<int>(activation);
}

// Returns the type in which networks run.
at::ScalarType NetworkType(const at::Tensor& parameters, Precision precision) {
  if (!IsMixed(precision)) return parameters.scalar_type();
  return precision == Precision::kBf16Mixed ? at::kBFloat16 : at::kHalf;
}

// The networks of all species. Parameters are split once, because the gradient of one split is one copy, while that of
// each narrow() is an array of all parameters.
class Networks {
 public:
  Networks(const NetworkShape& shape, const at::Tensor& parameters, const EagerOptions& eager)
      : shape_(shape), script_(eager.script), type_(NetworkType(parameters, eager.precision)) {
    CHECK_EQ(parameters.numel(), shape.num_parameters());
    std::vector<int64_t> sizes;
    for (int species = 0; species < shape.num_species; ++species) {
      for (int layer = 0; layer < shape.num_layers(); ++layer) {
        sizes.push_back(int64_t{shape.layer_inputs(layer)} * shape.layer_outputs(layer));
        sizes.push_back(shape.layer_outputs(layer));
      }
    }
    pieces_ = parameters.to(type_).split_with_sizes(sizes);
  }

  // Returns the outputs of the network of one species for inputs [n, F] of any type: [n], in the networks' type.
  at::Tensor Outputs(int species, const at::Tensor& x) const {
    std::vector<at::Tensor> pieces;
    for (int layer = 0; layer < shape_.num_layers(); ++layer) {
      const at::Tensor* const of_layer = &pieces_[2 * (species * shape_.num_layers() + layer)];
      pieces.push_back(of_layer[0].view({shape_.layer_outputs(layer), shape_.layer_inputs(layer)}));
      pieces.push_back(of_layer[1]);
    }
    at::Tensor h = x.to(type_);
    if (script_) return ScriptNetworkOutputs(shape_, pieces, h);
    for (int layer = 0; layer < shape_.num_layers(); ++layer) {
      h = at::addmm(pieces[2 * layer + 1], h, pieces[2 * layer].t());
      if (layer + 1 < shape_.num_layers()) h = Activate(shape_.activation, h);
    }
    return h.view({h.size(0)});
  }

 private:
  const NetworkShape& shape_;
  const bool script_;
  const at::ScalarType type_;
  std::vector<at::Tensor> pieces_;  // for each species, for each layer, weight and bias
};

}  // namespace

at::Tensor ReferenceEnergySums(const NetworkShape& shape, const at::Tensor& parameters, const Tensor& x,
                               const Tensor& species_offset, const Tensor& structure, int64_t num_structures,
                               const EagerOptions& eager) {
  // Runs in fp64 if the parameters are fp64, as for finite differences.
  return ReferenceEnergySums(shape, parameters, ToTorch(x, parameters.device()).to(parameters.scalar_type()),
                             species_offset, structure, num_structures, eager);
}

at::Tensor ReferenceEnergySums(const NetworkShape& shape, const at::Tensor& parameters, const at::Tensor& x,
                               const Tensor& species_offset, const Tensor& structure, int64_t num_structures,
                               const EagerOptions& eager) {
  const Networks networks(shape, parameters, eager);
  const at::Tensor index = ToTorch(structure, parameters.device()).to(at::kLong);
  const absl::Span<const int64_t> offset = species_offset.values<int64_t>();
  // The sums are fp64 whatever the networks are: in bfloat16, energies of many atoms would not add up.
  at::Tensor sums = at::zeros({num_structures}, parameters.options().dtype(at::kDouble).requires_grad(false));
  for (int species = 0; species < shape.num_species; ++species) {
    const int64_t begin = offset[species], count = offset[species + 1] - begin;
    if (count == 0) continue;
    const at::Tensor outputs = networks.Outputs(species, x.narrow(0, begin, count));
    sums = sums.index_add(0, index.narrow(0, begin, count), outputs.to(at::kDouble));
  }
  return sums;
}

at::Tensor ReferenceAtomEnergies(const NetworkShape& shape, const at::Tensor& parameters, const at::Tensor& x,
                                 absl::Span<const uint8_t> species, const EagerOptions& eager) {
  CHECK_EQ(x.size(0), static_cast<int64_t>(species.size()));
  const Networks networks(shape, parameters, eager);
  std::vector<std::vector<int64_t>> atoms(shape.num_species);
  for (size_t a = 0; a < species.size(); ++a) {
    CHECK_LT(int{species[a]}, shape.num_species);
    atoms[species[a]].push_back(static_cast<int64_t>(a));
  }
  at::Tensor energies = at::zeros({x.size(0)}, x.options());
  for (int s = 0; s < shape.num_species; ++s) {
    if (atoms[s].empty()) continue;
    const at::Tensor index = at::tensor(atoms[s], at::kLong).to(x.device(), /*non_blocking=*/true);
    const at::Tensor outputs = networks.Outputs(s, x.index_select(0, index));
    energies = energies.index_add(0, index, outputs.to(x.scalar_type()));
  }
  return energies;
}

}  // namespace rutile
