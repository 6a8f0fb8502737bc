// The networks of wide layers: one layer after the other for a block of atoms of one species, each a product of
// matrices (lib/matrix/prepared_products.h). energy_blocks.h and tangent_blocks.h have the same passes in the form for
// narrow layers, and the latter the formulas of the second order.
//
// A block keeps its numbers as a tile: for each layer a matrix [atoms, neurons], whose rows lie whole cache lines
// apart,
//
//   features | hidden layers | energies | slopes (twist, silu) | d of hidden layers | f'' u (twist, silu)
//
// the last two for the second order alone. The output layer is a dot product with each row, in T, and so are the sums
// that make biases' gradients; factors that are rounded are those of the other layers' products.

#ifndef RUTILE_LIB_NETWORK_NETWORK_GEMM_H_
#define RUTILE_LIB_NETWORK_NETWORK_GEMM_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "lib/matrix/prepared_products.h"
#include "lib/network/gemm_epilogue.h"
#include "lib/network/network_shape.h"

namespace rutile {

// T is float or double. Calls with different workers may run at the same time, but for those that say otherwise.
template <typename T>
class NetworkGemm {
 public:
  // block_atoms: of the largest block. Workers are 0 .. num_workers - 1.
  NetworkGemm(const NetworkShape& shape, int block_atoms, int num_workers);

  // Whether factors are rounded to bfloat16 from now on; weights must be prepared again. No call may run meanwhile.
  void SetRounding(bool on);

  // Takes the memory that calls need, so that none allocates. No call may run meanwhile.
  void Reserve(bool second_order);

  // Numbers of T in a tile, and of its features; where its energies begin.
  int64_t tile_size(bool second_order) const { return second_order ? second_order_size_ : first_order_size_; }
  int64_t transposed_size() const { return block_atoms_ * stride_[0]; }
  int64_t energies_at() const { return energies_at_; }

  // Weights that are prepared one by one: of a species and a hidden layer, for products from inputs to outputs
  // (Forward, tangents) or `back` (Backward but for layer 0, all that has to do with inputs' gradients). parameters: of
  // all species. Once for all calls below that are of the same parameters.
  int num_weights() const { return shape_.num_species * num_hidden_; }
  void PrepareWeights(int weights, bool back, const T* parameters, int worker);
  int SpeciesOf(int weights) const { return weights / num_hidden_; }
  int LayerOf(int weights) const { return weights % num_hidden_; }
  // The same numbers lie elsewhere now. No call may run meanwhile.
  void MoveWeights(const T* parameters);

  // As those of energy_blocks.h and tangent_blocks.h. parameters, gradients: of the species. Tiles are 64-byte aligned;
  // what is said of the rest of a tile holds for its padding. x: [n, F] row-major, or its rows row[0 .. n).
  void Turn(const T* x, const int64_t* row, int n, T* transposed) const;
  void Forward(int species, const T* parameters, const T* transposed, int n, T* tile, int worker);
  // Energies hold d loss/d energy. turned: as in Forward. Does not destroy the tile.
  void Backward(int species, const T* parameters, const T* transposed, int n, const T* tile, T* gradients,
                T* x_gradients, int worker);
  void ForwardWithInputGradients(int species, const T* parameters, const T* x, int n, T* tile, T* x_gradients,
                                 int worker);
  void AddGradients(int species, const T* parameters, int n, const T* slopes, const T* tangents, const T* tile,
                    T* gradients, int worker);

 private:
  struct Worker {
    PreparedProducts<T> products;
    PreparedFactor<T> left, right;
    AlignedWords scratch;
  };
  // Of hidden layer l, in a tile.
  GemmEpilogue<T> Hidden(int l, int n, const T* tile) const;
  const T* WeightsOf(const T* parameters, int l) const { return parameters + shape_.weight_offset(0, l); }
  MatrixView<T> Matrix(const T* data, int l, int n) const { return {data, n, shape_.layer_inputs(l), stride_[l]}; }
  int64_t ScratchSize(bool second_order) const;
  T* Scratch(bool second_order, int worker);
  // out = values of layer l's inputs times its weights, or = slopes of its outputs times them; rows `stride` apart.
  void Onward(int species, int l, const MatrixView<T>& in, T* out, int worker);
  void Back(int species, int l, const MatrixView<T>& d_out, T* out, int64_t stride, int worker);
  // gradients of layer l's weights += d_out^T in.
  void AddOuter(int l, const MatrixView<T>& d_out, const MatrixView<T>& in, T* gradients, int worker);
  void Activate(int species, const T* parameters, const T* transposed, int n, bool second_order, T* tile, int worker);

  const NetworkShape shape_;
  const int num_hidden_;
  const int64_t block_atoms_;
  std::vector<int64_t> stride_;  // of the features, then of hidden layers
  // Where matrices begin in a tile; of hidden layers.
  std::vector<int64_t> values_at_, slopes_at_, deltas_at_, curvatures_at_;
  int64_t energies_at_ = 0, first_order_size_ = 0, second_order_size_ = 0;
  std::vector<PreparedFactor<T>> onward_, back_;  // [species, hidden layer]
  std::vector<std::unique_ptr<Worker>> workers_;
};

extern template class NetworkGemm<float>;
extern template class NetworkGemm<double>;

}  // namespace rutile

#endif  // RUTILE_LIB_NETWORK_NETWORK_GEMM_H_
