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

// The part that comes before the networks of a many-body potential (lib/many_body): an atom's features are moments
// x [num_species, num_radial, (max_l + 1)^2] of its neighbors' densities (the component of l and m is l * l + l + m),
// from which it makes `channels` invariants, the inputs of the network. Without channels there is no such part.
//
// With messages there are two layers: the invariants of an atom give it `messages` numbers, which it sends to its
// neighbors, and the second layer's features are moments [messages, num_radial, (max_l + 1)^2] of the neighbors'
// densities weighted by these numbers. A network's energy is the sum of both layers'. With vector messages an atom
// sends also `vector_messages` vectors w_k, and to the number k that reaches a neighbor is added the component of w_k
// along the unit vector from that neighbor to the atom.
struct MomentShape {
  int channels = 0;
  int num_radial = 8;       // radial functions of each neighboring species
  int max_l = 3;            // the highest degree of spherical harmonics
  int messages = 0;         // numbers that an atom sends to its neighbors; 0: one layer
  int num_sources = 0;      // densities that the features are moments of; 0: one for each species
  int vector_messages = 0;  // vectors that an atom sends besides, at most as many as messages

  int num_components() const { return (max_l + 1) * (max_l + 1); }
  // All that an atom sends: `messages` numbers u, and behind them the x, y and z of its vectors, w [3,
  // vector_messages].
  int message_width() const { return messages + 3 * vector_messages; }
  // The number of polynomials of degrees 1 to 3 that make the invariants: 13 for max_l = 3.
  int num_products() const;
};

inline bool operator==(const MomentShape& a, const MomentShape& b) {
  return a.channels == b.channels && a.num_radial == b.num_radial && a.max_l == b.max_l && a.messages == b.messages &&
         a.num_sources == b.num_sources && a.vector_messages == b.vector_messages;
}

// There is one network for each species: num_features -> hidden[0] -> ... -> 1, with the activation on hidden layers
// and a linear output. The flat layout is: for each species, for each layer, W [out, in] row-major, then b [out].
//
// With moments.channels > 0 the networks have moments.channels inputs, made of num_features = MomentFeatures() moments,
// and each species' parameters begin with those of lib/many_body: radial coefficients C [channels, max_l + 1,
// num_species, num_radial], product weights w [channels, num_products()], and linear weights v [channels]. With
// messages a species' network is followed by message weights V [messages, channels], those of vectors
// [vector_messages, channels], and its parameters in SecondLayer().
struct NetworkShape {
  int num_species = 1;
  int num_features = 1;
  std::vector<int> hidden = {15, 15};
  Activation activation = Activation::kTanh;
  MomentShape moments = {};

  // INVALID_ARGUMENT naming --hidden: a layer has no nodes or more than 4096, or there are more than 16 layers; or
  // naming --channels, --radial_functions, --max_l, --messages or --vector_messages: out of range, or num_features is
  // not MomentFeatures(), or there are more vectors than messages, or vectors with max_l = 0.
  absl::Status Validate() const;

  bool has_moments() const { return moments.channels > 0; }
  bool has_messages() const { return moments.messages > 0; }
  bool has_vector_messages() const { return moments.vector_messages > 0; }
  // The densities that the features are moments of.
  int num_sources() const { return moments.num_sources > 0 ? moments.num_sources : num_species; }
  // The number of features that `moments` needs.
  int MomentFeatures() const { return num_sources() * moments.num_radial * moments.num_components(); }
  // Each of two layers as a shape of its own, without messages.
  NetworkShape FirstLayer() const;
  NetworkShape SecondLayer() const;
  // The networks alone, which have no moments: those of the channels' invariants if there are moments.
  NetworkShape Networks() const { return {num_species, layer_inputs(0), hidden, activation}; }

  int num_layers() const { return static_cast<int>(hidden.size()) + 1; }
  int layer_inputs(int layer) const {
    if (layer > 0) return hidden[layer - 1];
    return has_moments() ? moments.channels : num_features;
  }
  int layer_outputs(int layer) const { return layer + 1 == num_layers() ? 1 : hidden[layer]; }
  int64_t parameters_per_species() const;
  int64_t num_parameters() const { return num_species * parameters_per_species(); }
  int64_t weight_offset(int species, int layer) const;
  int64_t bias_offset(int species, int layer) const {
    return weight_offset(species, layer) + int64_t{layer_inputs(layer)} * layer_outputs(layer);
  }
  // Offsets of C, w and v. Only with moments.
  int64_t radial_offset(int species) const { return species * parameters_per_species(); }
  int64_t product_offset(int species) const { return radial_offset(species) + num_radial_coefficients(); }
  int64_t linear_offset(int species) const {
    return product_offset(species) + int64_t{moments.channels} * moments.num_products();
  }
  // Offsets of V, of the weights of vectors, and of the second layer. Only with messages.
  int64_t message_offset(int species) const { return weight_offset(species, num_layers()); }
  int64_t vector_offset(int species) const {
    return message_offset(species) + int64_t{moments.messages} * moments.channels;
  }
  int64_t second_layer_offset(int species) const {
    return vector_offset(species) + int64_t{moments.vector_messages} * moments.channels;
  }
  // The size of one species' C, 0 without moments.
  int64_t num_radial_coefficients() const {
    return int64_t{moments.channels} * (moments.max_l + 1) * num_sources() * moments.num_radial;
  }

 private:
  // The number of parameters before the networks'.
  int64_t num_moment_parameters() const {
    return num_radial_coefficients() + int64_t{moments.channels} * (moments.num_products() + 1);
  }
};

}  // namespace rutile

#endif  // RUTILE_LIB_NETWORK_NETWORK_SHAPE_H_
