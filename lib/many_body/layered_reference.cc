#include "lib/many_body/layered_reference.h"

#include <ATen/ATen.h>

#include <cmath>
#include <vector>

#include "lib/base/logging.h"
#include "lib/many_body/many_body_reference.h"

namespace rutile {

at::Tensor ReferenceEnergiesOfLayers(const NetworkShape& shape, const at::Tensor& parameters, const at::Tensor& x,
                                     absl::Span<const uint8_t> species,
                                     const std::function<at::Tensor(const at::Tensor&)>& sums,
                                     const EagerOptions& eager) {
  CHECK(shape.has_messages());
  CHECK_EQ(parameters.numel(), shape.num_parameters());
  const NetworkShape first = shape.FirstLayer(), second = shape.SecondLayer();
  const int64_t messages = shape.moments.messages, vectors = shape.moments.vector_messages;
  const int64_t channels = shape.moments.channels;
  const std::vector<at::Tensor> pieces = parameters.view({shape.num_species, shape.parameters_per_species()})
                                             .split_with_sizes({first.parameters_per_species(), messages * channels,
                                                                vectors * channels, second.parameters_per_species()},
                                                               1);
  const at::Tensor first_parameters = pieces[0].reshape({-1}), second_parameters = pieces[3].reshape({-1});
  const at::Tensor weights = pieces[1].reshape({shape.num_species, messages, channels});
  at::Tensor invariants, moments;  // M [A, K], and A of l = 1 [A, 3, K]
  const at::Tensor energies = ReferenceEnergiesOfAtoms(first, first_parameters, x, species, eager, &invariants,
                                                       vectors > 0 ? &moments : nullptr);
  const std::vector<int64_t> of_atom(species.begin(), species.end());
  const at::Tensor index = at::tensor(of_atom, at::kLong).to(parameters.device());
  const at::Tensor bounded = invariants / at::sqrt(1 + invariants * invariants);
  at::Tensor sent =
      at::einsum("akc,ac->ak", {weights.index_select(0, index), bounded}) / std::sqrt(static_cast<double>(channels));
  if (vectors > 0) {
    const at::Tensor of_vectors = pieces[2].reshape({shape.num_species, vectors, channels}).index_select(0, index);
    const at::Tensor bounded_vectors = moments / at::sqrt(1 + (moments * moments).sum(1, /*keepdim=*/true));
    const at::Tensor w =
        at::einsum("akc,adc->adk", {of_vectors, bounded_vectors}) / std::sqrt(static_cast<double>(channels));
    sent = at::cat({sent, w.reshape({x.size(0), 3 * vectors})}, 1);
  }
  return energies + ReferenceEnergiesOfAtoms(second, second_parameters, sums(sent), species, eager);
}

}  // namespace rutile
