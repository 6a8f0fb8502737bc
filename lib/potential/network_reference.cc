#include "lib/potential/network_reference.h"

#include <ATen/ATen.h>

#include <vector>

#include "lib/base/logging.h"
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

// Outputs of the network of one species: [n] of inputs [n, F].
at::Tensor NetworkOutputs(const NetworkShape& shape, const at::Tensor& parameters, int species, at::Tensor h) {
  for (int layer = 0; layer < shape.num_layers(); ++layer) {
    const int64_t in = shape.layer_inputs(layer), out = shape.layer_outputs(layer);
    const at::Tensor weight = parameters.narrow(0, shape.weight_offset(species, layer), in * out).view({out, in});
    const at::Tensor bias = parameters.narrow(0, shape.bias_offset(species, layer), out);
    h = at::addmm(bias, h, weight.t());
    if (layer + 1 < shape.num_layers()) h = Activate(shape.activation, h);
  }
  return h.view({h.size(0)});
}

}  // namespace

at::Tensor ReferenceEnergySums(const NetworkShape& shape, const at::Tensor& parameters, const Tensor& x,
                               const Tensor& species_offset, const Tensor& structure, int64_t num_structures) {
  // Finite differences are taken in fp64.
  return ReferenceEnergySums(shape, parameters, ToTorch(x).to(parameters.scalar_type()), species_offset, structure,
                             num_structures);
}

at::Tensor ReferenceEnergySums(const NetworkShape& shape, const at::Tensor& parameters, const at::Tensor& x,
                               const Tensor& species_offset, const Tensor& structure, int64_t num_structures) {
  const at::Tensor index = ToTorch(structure).to(at::kLong);
  const absl::Span<const int64_t> offset = species_offset.values<int64_t>();
  at::Tensor sums = at::zeros({num_structures}, at::kDouble);
  for (int species = 0; species < shape.num_species; ++species) {
    const int64_t begin = offset[species], count = offset[species + 1] - begin;
    if (count == 0) continue;
    const at::Tensor outputs = NetworkOutputs(shape, parameters, species, x.narrow(0, begin, count));
    sums = sums.index_add(0, index.narrow(0, begin, count), outputs.to(at::kDouble));
  }
  return sums;
}

at::Tensor ReferenceAtomEnergies(const NetworkShape& shape, const at::Tensor& parameters, const at::Tensor& x,
                                 absl::Span<const uint8_t> species) {
  CHECK_EQ(x.size(0), static_cast<int64_t>(species.size()));
  CHECK_EQ(parameters.numel(), shape.num_parameters());
  std::vector<std::vector<int64_t>> atoms(shape.num_species);
  for (size_t a = 0; a < species.size(); ++a) {
    CHECK_LT(int{species[a]}, shape.num_species);
    atoms[species[a]].push_back(static_cast<int64_t>(a));
  }
  at::Tensor energies = at::zeros({x.size(0)}, x.options());
  for (int s = 0; s < shape.num_species; ++s) {
    if (atoms[s].empty()) continue;
    const at::Tensor index = at::tensor(atoms[s], at::kLong);
    energies = energies.index_add(0, index, NetworkOutputs(shape, parameters, s, x.index_select(0, index)));
  }
  return energies;
}

}  // namespace rutile
