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
  if (!shape.has_moments()) return;
  // Each pass contracts the moments with the coefficients or goes back through them, and sweeps over the monomials of
  // the products, most of which are cubic; a sweep with tangents costs about three without.
  static constexpr int64_t kCubic[] = {1, 4, 25, 77, 238};  // monomials for max_l = 0, 1, ...
  const int64_t contraction = 2 * int64_t{shape.moments.channels} * shape.num_features;
  const int64_t sweep = 4 * kCubic[shape.moments.max_l] * shape.moments.channels;
  forward += contraction + sweep;
  input_gradients += contraction + 2 * sweep;
  backward += contraction + 3 * sweep;
  tangent_gradients += 3 * contraction + 9 * sweep;
  if (!shape.has_messages()) return;
  // Sums over neighbors are not counted, as their number is not known here.
  const NetworkCost second(shape.SecondLayer());
  forward += second.forward;
  input_gradients += second.input_gradients;
  backward += second.backward;
  tangent_gradients += second.tangent_gradients;
}

}  // namespace rutile
