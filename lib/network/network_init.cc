#include "lib/network/network_init.h"

#include <cmath>

#include "lib/base/logging.h"
#include "lib/base/random.h"

namespace rutile {

std::vector<double> InitialNetworkParameters(const NetworkShape& shape, uint64_t seed) {
  CHECK(!shape.has_moments()) << "lib/many_body has the initial parameters of moments";
  std::vector<double> parameters;
  parameters.reserve(shape.num_parameters());
  for (int species = 0; species < shape.num_species; ++species) {
    for (int layer = 0; layer < shape.num_layers(); ++layer) {
      RandomStream stream(seed, "network_init", species, layer);
      const double bound = 1 / std::sqrt(shape.layer_inputs(layer));
      const int64_t count = int64_t{shape.layer_inputs(layer) + 1} * shape.layer_outputs(layer);
      for (int64_t i = 0; i < count; ++i) parameters.push_back(stream.Uniform(-bound, bound));
    }
  }
  return parameters;
}

}  // namespace rutile
