// The inner loops of the energy kernel: one network over one block of atoms of one species.
//
// A block keeps its numbers as a tile: row r holds one neuron (or feature) of kBlockAtoms atoms, so that a vector
// register holds one neuron of many atoms and no lane is lost at any width. The rows of a tile are
//
//   features | hidden layer 0 | hidden layer 1 | ... | output | slopes of hidden layers (twist, silu only)
//
// The backward pass writes d loss/d(neuron's input) over the activations, which are not needed again.

#ifndef RUTILE_LIB_NETWORK_NETWORK_FUSED_H_
#define RUTILE_LIB_NETWORK_NETWORK_FUSED_H_

#include <cstdint>
#include <vector>

#include "lib/network/network_shape.h"

namespace rutile {

// 128 atoms of a 20-16-16-1 network in fp32 are 30 kB, and the sum over lanes at the end of a weight's gradient is
// spread over that many atoms.
inline constexpr int kBlockAtoms = 128;

// Elements from one row to the next: an odd number of cache lines, so that rows do not fall into the same sets.
template <typename T>
constexpr int64_t TileStride() {
  return kBlockAtoms + 64 / static_cast<int64_t>(sizeof(T));
}

// How gradients are summed over atoms (products-inl.h): what suits the widths of a layer, or one form for all.
enum class GradientForm { kAuto, kLanes, kTransposed };

// Where the rows of a tile are, and the network of one species in its flat parameters.
struct BlockLayout {
  explicit BlockLayout(const NetworkShape& shape, GradientForm gradients = GradientForm::kAuto);

  struct Layer {
    int inputs, outputs;
    int64_t weight, bias;  // offsets within the species' parameters
    int input_row, output_row;
    int slope_row;  // -1: the slope follows from the activation itself
  };
  std::vector<Layer> layers;
  Activation activation;
  GradientForm gradients;
  int num_features;
  int result_row;  // the network's output
  int num_rows;
};

// Features as a tile has them. x: [n, F] row-major, 0 < n <= kBlockAtoms; where `row` is not null, atom a's are row
// row[a] of x [*, F]. turned: [F * TileStride()], 64-byte aligned, overwritten but for what lies beyond whole vectors:
// a tile, whose first rows they are, or memory in which they are kept.
void TransposeBlock(int num_features, const float* x, const int64_t* row, int n, float* transposed);
void TransposeBlock(int num_features, const double* x, const int64_t* row, int n, double* transposed);

// After TransposeBlock, whose result is `turned` (`tile` itself, or elsewhere). next: what will be `turned` in the next
// call, asked for meanwhile, or null. parameters: of this species. Fills the rest of `tile` [num_rows * TileStride()],
// 64-byte aligned; atom a's energy is tile[result_row * stride + a].
void ForwardTransposedBlock(const BlockLayout& layout, const float* parameters, const float* transposed,
                            const float* next, int n, float* tile);
void ForwardTransposedBlock(const BlockLayout& layout, const double* parameters, const double* transposed,
                            const double* next, int n, double* tile);

// Both, the features in the tile.
template <typename T>
void ForwardBlock(const BlockLayout& layout, const T* parameters, const T* x, const int64_t* row, int n, T* tile) {
  TransposeBlock(layout.num_features, x, row, n, tile);
  ForwardTransposedBlock(layout, parameters, tile, static_cast<const T*>(nullptr), n, tile);
}

// After ForwardBlock, with d loss/d energy of each atom written into the result row (only the first n are read).
// gradients: of this species, added to; may be null. x_gradients: [n, F] d loss/d x, overwritten; may be null.
// Destroys the tile.
void BackwardBlock(const BlockLayout& layout, const float* parameters, int n, float* tile, float* gradients,
                   float* x_gradients);
void BackwardBlock(const BlockLayout& layout, const double* parameters, int n, double* tile, double* gradients,
                   double* x_gradients);

}  // namespace rutile

#endif  // RUTILE_LIB_NETWORK_NETWORK_FUSED_H_
