// How the networks of a potential, and batches of atoms that they are evaluated on, lie in the memory of a GPU.

#ifndef RUTILE_LIB_POTENTIAL_GPU_NETWORK_LAYOUT_H_
#define RUTILE_LIB_POTENTIAL_GPU_NETWORK_LAYOUT_H_

#include <cstdint>

#include "lib/gpu/device_function.h"

namespace rutile {

inline constexpr int kMaxHiddenLayers = 16;  // as NetworkShape::Validate has it
inline constexpr int kMaxNetworkSpecies = 256;

// NetworkShape in plain numbers, for files that nvcc compiles. plain_network_shape.h makes it.
struct PlainNetworkShape {
  int num_species = 1;
  int num_features = 1;
  int num_hidden = 0;
  int hidden[kMaxHiddenLayers] = {};
  int activation = 0;  // the number of an Activation
};

// The numbers of Activation that code for GPUs knows by name.
inline constexpr int kPlainLinear = 0, kPlainTanh = 1, kPlainSigmoid = 2, kPlainMtanh = 3, kPlainTwist = 4,
                     kPlainSilu = 5;

// The rows of a call: atoms of some structures, sorted by species. All pointers but species_offset are the device's.
template <typename T>
struct NetworkBatch {
  const T* x;                     // [A, F] standardized features of all atoms that are resident
  const T* energy_slope;          // [species, F]: dE/dG = energy_slope dx; may be null if no derivative by x is used
  const int32_t* row_atom;        // [R] the resident atom of each row; rows of the same atom get the same numbers
  const int32_t* row_structure;   // [R] index in the batch; may be null where only energies are computed
  const int64_t* species_offset;  // [species + 1], the host's: rows of species s are [offset[s], offset[s + 1])
};

// The shape of the networks, and where their weights lie when they are packed for products: numbers of neurons are
// padded to multiples of 4 with weights that are 0, so that products need not look at bounds and can read 4 numbers at
// once. Layers are 0, ..., num_hidden; layer l goes from the values l to the values l + 1, and the last one has a
// single output. A plain struct that is handed to kernels by value.
struct NetworkLayout {
  explicit NetworkLayout(const PlainNetworkShape& shape)
      : num_species(shape.num_species),
        num_features(shape.num_features),
        num_hidden(shape.num_hidden),
        activation(shape.activation),
        keeps_slopes(shape.activation == kPlainTwist || shape.activation == kPlainSilu) {
    for (int l = 0; l <= num_hidden; ++l) {
      size[l] = l == 0 ? num_features : shape.hidden[l - 1];
      padded[l] = (size[l] + 3) / 4 * 4;
      row[l] = num_rows;
      num_rows += padded[l];
    }
    for (int l = 0; l <= num_hidden; ++l) {
      const bool last = l == num_hidden;
      // An odd multiple of 4, so that rows of weights that follow each other begin in different banks.
      stride[l] = last ? padded[l] : padded[l] + (padded[l] % 8 == 0 ? 4 : 0);
      weight[l] = packed_size;
      bias[l] = weight[l] + int64_t{stride[l]} * (last ? 1 : padded[l + 1]);
      packed_size = bias[l] + (last ? 4 : padded[l + 1]);
      parameter[l] = parameters_per_species;
      parameters_per_species += (int64_t{size[l]} + 1) * outputs(l);
    }
  }

  RUTILE_DEVICE int outputs(int layer) const { return layer == num_hidden ? 1 : size[layer + 1]; }
  RUTILE_DEVICE int hidden_rows() const { return num_rows - padded[0]; }

  // Returns which of its species' parameters a packed one is, or -1 for padding.
  RUTILE_DEVICE int64_t ParameterOf(int64_t packed) const {
    int l = 0;
    while (l < num_hidden && packed >= weight[l + 1]) ++l;
    if (packed >= bias[l]) {
      const int o = static_cast<int>(packed - bias[l]);
      return o < outputs(l) ? parameter[l] + int64_t{size[l]} * outputs(l) + o : -1;
    }
    const auto at = static_cast<uint32_t>(packed - weight[l]);
    const int o = static_cast<int>(at / stride[l]), i = static_cast<int>(at % stride[l]);
    return o < outputs(l) && i < size[l] ? parameter[l] + int64_t{o} * size[l] + i : -1;
  }

  int num_species, num_features, num_hidden, activation;
  bool keeps_slopes;                        // f' is no function of the value of f, so it is stored
  int num_rows = 0;                         // of the values of one tile: features, then hidden neurons
  int size[kMaxHiddenLayers + 1];           // of features and of hidden layers
  int padded[kMaxHiddenLayers + 1];         // the same in multiples of 4
  int row[kMaxHiddenLayers + 1];            // first row of their values
  uint32_t stride[kMaxHiddenLayers + 1];    // of the packed weights of layer l, [padded outputs, stride]
  int64_t weight[kMaxHiddenLayers + 1];     // where these begin among the packed ones of a species
  int64_t bias[kMaxHiddenLayers + 1];       // where biases begin, [padded outputs]
  int64_t parameter[kMaxHiddenLayers + 1];  // where the layer begins among the parameters of a species
  int64_t packed_size = 0, parameters_per_species = 0;
};

// Which rows each block of a launch works on: blocks first_block[s], ..., first_block[s + 1] - 1 share those of species
// s in tiles; block b of them takes the tiles b, b + blocks, .... A part of bodies, so that a launch needs no upload.
struct SpeciesBlocks {
  RUTILE_DEVICE int SpeciesOf(int64_t block) const {
    int s = 0;
    while (first_block[s + 1] <= block) ++s;
    return s;
  }

  int32_t first_row[kMaxNetworkSpecies + 1];
  int32_t first_block[kMaxNetworkSpecies + 1];
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_GPU_NETWORK_LAYOUT_H_
