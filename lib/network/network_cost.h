// How many floating-point operations the networks need for one atom, for profiles: closed forms.

#ifndef RUTILE_LIB_NETWORK_NETWORK_COST_H_
#define RUTILE_LIB_NETWORK_NETWORK_COST_H_

#include <cstdint>

#include "lib/network/network_shape.h"

namespace rutile {

// Of matrix products, a multiplication and an addition counting one each; and kActivation for each hidden node and
// derivative, about what a polynomial for tanh needs. NetworkKernel's passes:
struct NetworkCost {
  explicit NetworkCost(const NetworkShape& shape);

  static constexpr int64_t kActivation = 20;
  int64_t forward = 0;            // Forward, Evaluate
  int64_t input_gradients = 0;    // what ForwardWithInputGradients adds to Forward
  int64_t backward = 0;           // Backward, AddEnergyGradients: gradients of parameters
  int64_t tangent_gradients = 0;  // AddTangentGradients: the tangent's pass, and gradients through both
};

}  // namespace rutile

#endif  // RUTILE_LIB_NETWORK_NETWORK_COST_H_
