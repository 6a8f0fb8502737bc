// Counts the floating-point operations that the networks need for one atom, in closed form, for profiles.

#ifndef RUTILE_LIB_NETWORK_NETWORK_COST_H_
#define RUTILE_LIB_NETWORK_NETWORK_COST_H_

#include <cstdint>

#include "lib/network/network_shape.h"

namespace rutile {

// Operations of the passes of an AtomKernel for one atom. A multiplication and an addition of a matrix product count
// one each. Each hidden node and each of its derivatives counts kActivation, about the cost of a polynomial for tanh.
struct NetworkCost {
  explicit NetworkCost(const NetworkShape& shape);

  static constexpr int64_t kActivation = 20;
  int64_t forward = 0;            // Forward, Evaluate
  int64_t input_gradients = 0;    // added to Forward by ForwardWithInputGradients
  int64_t backward = 0;           // Backward, AddEnergyGradients: parameter gradients
  int64_t tangent_gradients = 0;  // AddTangentGradients: the tangent pass, and gradients through both passes
};

}  // namespace rutile

#endif  // RUTILE_LIB_NETWORK_NETWORK_COST_H_
