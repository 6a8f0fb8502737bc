#include "lib/network/network_cost.h"

namespace rutile {

NetworkCost::NetworkCost(const NetworkShape& shape) {
  int64_t weights = 0, nodes = 0;
  for (int layer = 0; layer < shape.num_layers(); ++layer) {
    weights += int64_t{shape.layer_inputs(layer)} * shape.layer_outputs(layer);
    if (layer + 1 < shape.num_layers()) nodes += shape.layer_outputs(layer);
  }
  // Slopes propagate back through all layers but the first, which has no activations before it.
  const int64_t inner = weights - int64_t{shape.layer_inputs(0)} * shape.layer_outputs(0);
  forward = 2 * weights + kActivation * nodes;
  input_gradients = 2 * weights + nodes;
  backward = 2 * weights + 2 * inner + nodes;
  tangent_gradients = 2 * weights + 4 * weights + 4 * inner + 4 * nodes;
}

}  // namespace rutile
