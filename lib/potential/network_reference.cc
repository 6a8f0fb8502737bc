#include "lib/potential/network_reference.h"

#include <ATen/ATen.h>

#include "lib/base/logging.h"

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
      return 1.7159 * at::tanh(z * (2.0 / 3));
    case Activation::kTwist:
      return 1.7159 * at::tanh(z * (2.0 / 3)) + 0.1 * z;
    case Activation::kSilu:
      return z * at::sigmoid(z);
  }
  LOG(FATAL) << "no such activation: " << static_cast<int>(activation);
}

}  // namespace

at::Tensor NetworkSums(const NetworkShape& shape, const at::Tensor& parameters, const at::Tensor& x,
                       absl::Span<const int64_t> species_offset, const at::Tensor& structure, int64_t num_structures) {
  CHECK_EQ(parameters.numel(), shape.num_parameters());
  CHECK_EQ(static_cast<int>(species_offset.size()), shape.num_species + 1);
  at::Tensor sums = at::zeros({num_structures}, at::TensorOptions().dtype(at::kDouble));
  for (int species = 0; species < shape.num_species; ++species) {
    const int64_t begin = species_offset[species], count = species_offset[species + 1] - begin;
    at::Tensor h = x.narrow(0, begin, count).to(parameters.scalar_type());
    for (int layer = 0; layer < shape.num_layers(); ++layer) {
      const int64_t in = shape.layer_inputs(layer), out = shape.layer_outputs(layer);
      const at::Tensor weight = parameters.narrow(0, shape.weight_offset(species, layer), in * out).reshape({out, in});
      const at::Tensor bias = parameters.narrow(0, shape.bias_offset(species, layer), out);
      h = at::addmm(bias, h, weight.t());
      if (layer + 1 < shape.num_layers()) h = Activate(shape.activation, h);
    }
    sums = sums.index_add(0, structure.narrow(0, begin, count).to(at::kLong), h.squeeze(1).to(at::kDouble));
  }
  return sums;
}

}  // namespace rutile
