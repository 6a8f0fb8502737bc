// Evaluates one network on one block of atoms of one species, all layers at once: the inner loops of NetworkKernel's
// kFused form.
//
// A block stores its values as a tile: row r holds one neuron (or feature) of kBlockAtoms atoms, so that a vector
// register holds one neuron of many atoms and no SIMD lane is wasted at any layer width. The rows of a tile are
//
//   features | hidden layer 0 | hidden layer 1 | ... | output | slopes of hidden layers (twist, silu only)
//
// The backward pass overwrites the activations, which are not needed again, with d loss/d(neuron's input).

#ifndef RUTILE_LIB_NETWORK_KERNELS_NETWORK_FUSED_H_
#define RUTILE_LIB_NETWORK_KERNELS_NETWORK_FUSED_H_

#include <cstdint>
#include <vector>

#include "lib/network/network_shape.h"

namespace rutile {

// The most atoms in a block. A tile of 128 atoms of a 20-16-16-1 network in fp32 takes 30 kB, and the horizontal sum
// that ends each weight's gradient is amortized over that many atoms.
inline constexpr int kBlockAtoms = 128;

// The number of elements between rows of a tile: an odd number of cache lines, so that rows do not map to the same
// cache sets.
template <typename T>
constexpr int64_t TileStride() {
  return kBlockAtoms + 64 / static_cast<int64_t>(sizeof(T));
}

// How gradients are summed over atoms (products-inl.h). kAuto chooses the form that suits the widths of a layer; the
// others force one form for all layers.
enum class GradientForm { kAuto, kLanes, kTransposed };

// Where each layer's rows lie in a tile, and where its parameters lie among those of one species.
struct BlockLayout {
  explicit BlockLayout(const NetworkShape& shape, GradientForm gradients = GradientForm::kAuto);

  struct Layer {
    int inputs, outputs;
    int64_t weight, bias;  // offsets within the species' parameters
    int input_row, output_row;
    int slope_row;  // -1 if the slope follows from the activation itself
  };
  std::vector<Layer> layers;
  Activation activation;
  GradientForm gradients;
  int num_features;
  int result_row;  // holds the network's output
  int num_rows;
};

// Transposes features into the layout of a tile. x: [n, F] row-major, 0 < n <= kBlockAtoms; if `row` is not null, the
// features of atom a are row row[a] of x [*, F]. transposed: [F * TileStride()], 64-byte aligned, either the first rows
// of a tile or memory that caches them; it is overwritten except beyond the last whole vector of atoms.
void TransposeBlock(int num_features, const float* x, const int64_t* row, int n, float* transposed);
void TransposeBlock(int num_features, const double* x, const int64_t* row, int n, double* transposed);

// Computes all layers after TransposeBlock. transposed: its result, which may be `tile` itself. next: what `transposed`
// will be in the next call, to be prefetched, or null. parameters: those of this species. Fills the rest of `tile`
// [num_rows * TileStride()], 64-byte aligned; the energy of atom a is tile[result_row * stride + a].
void ForwardTransposedBlock(const BlockLayout& layout, const float* parameters, const float* transposed,
                            const float* next, int n, float* tile);
void ForwardTransposedBlock(const BlockLayout& layout, const double* parameters, const double* transposed,
                            const double* next, int n, double* tile);

// Runs TransposeBlock into the tile, then ForwardTransposedBlock.
template <typename T>
void ForwardBlock(const BlockLayout& layout, const T* parameters, const T* x, const int64_t* row, int n, T* tile) {
  TransposeBlock(layout.num_features, x, row, n, tile);
  ForwardTransposedBlock(layout, parameters, tile, static_cast<const T*>(nullptr), n, tile);
}

// Computes gradients after ForwardBlock. The caller has stored d loss/d energy of each atom in the result row, of which
// only the first n are read. gradients: those of this species, added to; may be null. x_gradients: [n, F] d loss/d x,
// overwritten; may be null. Destroys the tile.
void BackwardBlock(const BlockLayout& layout, const float* parameters, int n, float* tile, float* gradients,
                   float* x_gradients);
void BackwardBlock(const BlockLayout& layout, const double* parameters, int n, double* tile, double* gradients,
                   double* x_gradients);

}  // namespace rutile

#endif  // RUTILE_LIB_NETWORK_KERNELS_NETWORK_FUSED_H_
