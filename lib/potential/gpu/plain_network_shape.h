// Hands the shape of networks to code that nvcc compiles, which includes no Abseil.

#ifndef RUTILE_LIB_POTENTIAL_GPU_PLAIN_NETWORK_SHAPE_H_
#define RUTILE_LIB_POTENTIAL_GPU_PLAIN_NETWORK_SHAPE_H_

#include "lib/network/network_shape.h"
#include "lib/potential/gpu/network_layout.h"

namespace rutile {

// shape: valid (NetworkShape::Validate), of at most kMaxNetworkSpecies species.
PlainNetworkShape PlainShapeOf(const NetworkShape& shape);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_GPU_PLAIN_NETWORK_SHAPE_H_
