// Describes the shape of the per-species networks of a potential, and where their parameters lie in one flat array.

#ifndef RUTILE_LIB_NETWORK_NETWORK_SHAPE_H_
#define RUTILE_LIB_NETWORK_NETWORK_SHAPE_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/base/enum_names.h"

namespace rutile {

// The activations of hidden layers: mtanh = 1.7159 tanh(2x/3), twist = mtanh + 0.1 x (aenet, ext/feedforward.f90), silu
// = x / (1 + exp(-x)).
enum class Activation { kLinear, kTanh, kSigmoid, kMtanh, kTwist, kSilu };

inline constexpr absl::string_view kActivationWords[] = {"linear", "tanh", "sigmoid", "mtanh", "twist", "silu"};
inline constexpr EnumNames<Activation> kActivationNames("no activation", kActivationWords);

// There is one network for each species: num_features -> hidden[0] -> ... -> 1, with the activation on hidden layers
// and a linear output. The flat layout is: for each species, for each layer, W [out, in] row-major, then b [out].
struct NetworkShape {
  int num_species = 1;
  int num_features = 1;
  std::vector<int> hidden = {15, 15};
  Activation activation = Activation::kTanh;

  // INVALID_ARGUMENT naming --hidden: a layer has no nodes or more than 4096, or there are more than 16 layers.
  absl::Status Validate() const;

  int num_layers() const { return static_cast<int>(hidden.size()) + 1; }
  int layer_inputs(int layer) const { return layer == 0 ? num_features : hidden[layer - 1]; }
  int layer_outputs(int layer) const { return layer + 1 == num_layers() ? 1 : hidden[layer]; }
  int64_t parameters_per_species() const;
  int64_t num_parameters() const { return num_species * parameters_per_species(); }
  int64_t weight_offset(int species, int layer) const;
  int64_t bias_offset(int species, int layer) const {
    return weight_offset(species, layer) + int64_t{layer_inputs(layer)} * layer_outputs(layer);
  }
};

}  // namespace rutile

#endif  // RUTILE_LIB_NETWORK_NETWORK_SHAPE_H_
