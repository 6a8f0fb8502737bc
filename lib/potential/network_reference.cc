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
    at::Tensor h = x.narrow(0, begin, count);
    for (int layer = 0; layer < shape.num_layers(); ++layer) {
      const int64_t in = shape.layer_inputs(layer), out = shape.layer_outputs(layer);
      const at::Tensor weight = parameters.narrow(0, shape.weight_offset(species, layer), in * out).view({out, in});
      const at::Tensor bias = parameters.narrow(0, shape.bias_offset(species, layer), out);
      h = at::addmm(bias, h, weight.t());
      if (layer + 1 < shape.num_layers()) h = Activate(shape.activation, h);
    }
    sums = sums.index_add(0, index.narrow(0, begin, count), h.view({count}).to(at::kDouble));
  }
  return sums;
}

}  // namespace rutile
