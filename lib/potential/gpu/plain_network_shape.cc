#include "lib/potential/gpu/plain_network_shape.h"

#include <algorithm>

#include "lib/base/logging.h"

namespace rutile {

static_assert(static_cast<int>(Activation::kLinear) == kPlainLinear);
static_assert(static_cast<int>(Activation::kTanh) == kPlainTanh);
static_assert(static_cast<int>(Activation::kSigmoid) == kPlainSigmoid);
static_assert(static_cast<int>(Activation::kMtanh) == kPlainMtanh);
static_assert(static_cast<int>(Activation::kTwist) == kPlainTwist);
static_assert(static_cast<int>(Activation::kSilu) == kPlainSilu);

PlainNetworkShape PlainShapeOf(const NetworkShape& shape) {
  CHECK(shape.hidden.size() <= kMaxHiddenLayers && shape.num_species <= kMaxNetworkSpecies);
  PlainNetworkShape plain;
  plain.num_species = shape.num_species;
  plain.num_features = shape.num_features;
  plain.num_hidden = static_cast<int>(shape.hidden.size());
  std::copy(shape.hidden.begin(), shape.hidden.end(), plain.hidden);
  plain.activation = static_cast<int>(shape.activation);
  return plain;
}

}  // namespace rutile
