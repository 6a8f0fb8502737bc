// Defines the energies of potentials with two layers with LibTorch's differentiable operations. layered_kernel.h has
// the formulas.

#ifndef RUTILE_LIB_MANY_BODY_LAYERED_REFERENCE_H_
#define RUTILE_LIB_MANY_BODY_LAYERED_REFERENCE_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

#include "absl/types/span.h"
#include "lib/network/network_shape.h"
#include "lib/task/eager_options.h"

namespace rutile {

// Returns the energies [A] of atoms in the networks' units. x: [A, F] standardized features of the first layer;
// species: [A]; sums: from what atoms send [A, message_width()], in the parameters' type, to features [A, F2] of the
// second layer, in that type. shape: with messages. CHECK-fails if eager.script is set, as there is no script.
at::Tensor ReferenceEnergiesOfLayers(const NetworkShape& shape, const at::Tensor& parameters, const at::Tensor& x,
                                     absl::Span<const uint8_t> species,
                                     const std::function<at::Tensor(const at::Tensor&)>& sums,
                                     const EagerOptions& eager);

}  // namespace rutile

#endif  // RUTILE_LIB_MANY_BODY_LAYERED_REFERENCE_H_
