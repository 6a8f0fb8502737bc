// Draws initial parameters of the networks as torch.nn.Linear does.

#ifndef RUTILE_LIB_NETWORK_NETWORK_INIT_H_
#define RUTILE_LIB_NETWORK_NETWORK_INIT_H_

#include <cstdint>
#include <vector>

#include "lib/network/network_shape.h"

namespace rutile {

// Returns [num_parameters()] weights and biases, uniform in +-1/sqrt(inputs of the layer). Each layer of each species
// has its own random stream, so that changing the width of one layer leaves the others as they were.
std::vector<double> InitialNetworkParameters(const NetworkShape& shape, uint64_t seed);

}  // namespace rutile

#endif  // RUTILE_LIB_NETWORK_NETWORK_INIT_H_
