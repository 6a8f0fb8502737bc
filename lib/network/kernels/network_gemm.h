// Evaluates networks with wide layers: one layer after the other for a block of atoms of one species, each as a matrix
// product (lib/matrix/prepared_products.h). network_fused.h and network_fused_tangent.h have the same passes in the
// form for narrow layers, and the latter has the formulas of the second order.
//
// A block stores its values as a tile: for each layer a matrix [atoms, neurons], whose rows are whole cache lines
// apart,
//
//   features | hidden layers | energies | slopes (twist, silu) | d of hidden layers | f'' u (twist, silu)
//
// of which only the second order has the last two. The output layer is a dot product with each row, computed in T, as
// are the sums that make the gradients of biases; with rounding on, only the factors of the other layers' products are
// rounded.

#ifndef RUTILE_LIB_NETWORK_KERNELS_NETWORK_GEMM_H_
#define RUTILE_LIB_NETWORK_KERNELS_NETWORK_GEMM_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "lib/machine/aligned_buffer.h"
#include "lib/matrix/prepared_products.h"
#include "lib/network/kernels/gemm_epilogue.h"
#include "lib/network/network_shape.h"

namespace rutile {

// NetworkKernel's kGemm form. T is float or double. Calls with different workers may run at the same time, except where
// a comment says otherwise.
template <typename T>
class NetworkGemm {
 public:
  // block_atoms: the size of the largest block. Workers are numbered 0 .. num_workers - 1.
  NetworkGemm(const NetworkShape& shape, int block_atoms, int num_workers);

  // Turns rounding of factors to bfloat16 on or off; weights must be prepared again. No other call may run meanwhile.
  void SetRounding(bool on);

  // Allocates the memory that calls need, so that none allocates later. No other call may run meanwhile.
  void Reserve(bool second_order);

  // The size of a tile and of its features in elements of T, and the offset of the energies within a tile.
  int64_t tile_size(bool second_order) const { return second_order ? second_order_size_ : first_order_size_; }
  int64_t transposed_size() const { return block_atoms_ * stride_[0]; }
  int64_t energies_at() const { return energies_at_; }

  // Packs the weights of one species and one hidden layer, identified by `weights` = 0 .. num_weights() - 1, for
  // products from inputs to outputs (Forward, tangents) or, if `back`, from outputs to inputs (Backward except layer 0,
  // and all passes of input gradients). parameters: those of all species. One call serves all calls below that use the
  // same parameters.
  int num_weights() const { return shape_.num_species * num_hidden_; }
  void PrepareWeights(int weights, bool back, const T* parameters, int worker);
  int SpeciesOf(int weights) const { return weights / num_hidden_; }
  int LayerOf(int weights) const { return weights % num_hidden_; }
  // Points the prepared weights at a copy of the same parameters. No other call may run meanwhile.
  void MoveWeights(const T* parameters);

  // These passes have the contracts of the functions of the same names in network_fused.h and network_fused_tangent.h.
  // parameters, gradients: those of the species. Tiles are 64-byte aligned; the padding of rows is unspecified. x: [n,
  // F] row-major, or its rows row[0 .. n).
  void Transpose(const T* x, const int64_t* row, int n, T* transposed) const;
  void Forward(int species, const T* parameters, const T* transposed, int n, T* tile, int worker);
  // On entry the energies of the tile hold d loss/d energy. transposed: as in Forward. Does not destroy the tile.
  void Backward(int species, const T* parameters, const T* transposed, int n, const T* tile, T* gradients,
                T* x_gradients, int worker);
  void ForwardWithInputGradients(int species, const T* parameters, const T* x, int n, T* tile, T* x_gradients,
                                 int worker);
  void AddGradients(int species, const T* parameters, int n, const T* slopes, const T* tangents, const T* tile,
                    T* gradients, T* x_second, int worker);

 private:
  struct Worker {
    PreparedProducts<T> products;
    PreparedFactor<T> left, right;
    AlignedBuffer<uint32_t> scratch;
  };
  // The matrices of hidden layer l in a tile.
  GemmEpilogue<T> Hidden(int l, int n, const T* tile) const;
  const T* WeightsOf(const T* parameters, int l) const { return parameters + shape_.weight_offset(0, l); }
  MatrixView<T> Matrix(const T* data, int l, int n) const { return {data, n, shape_.layer_inputs(l), stride_[l]}; }
  int64_t ScratchSize(bool second_order) const;
  T* Scratch(bool second_order, int worker);
  // Onward sets out = the inputs of layer l times its weights; Back sets out = the slopes of its outputs times them,
  // with rows `stride` apart.
  void Onward(int species, int l, const MatrixView<T>& in, T* out, int worker);
  void Back(int species, int l, const MatrixView<T>& d_out, T* out, int64_t stride, int worker);
  // Adds d_out^T in to the gradients of layer l's weights.
  void AddOuter(int l, const MatrixView<T>& d_out, const MatrixView<T>& in, T* gradients, int worker);
  void Activate(int species, const T* parameters, const T* transposed, int n, bool second_order, T* tile, int worker);

  const NetworkShape shape_;
  const int num_hidden_;
  const int64_t block_atoms_;
  std::vector<int64_t> stride_;  // row strides of the features, then of each hidden layer
  // Offsets of each hidden layer's matrices in a tile.
  std::vector<int64_t> values_at_, slopes_at_, deltas_at_, curvatures_at_;
  int64_t energies_at_ = 0, first_order_size_ = 0, second_order_size_ = 0;
  std::vector<PreparedFactor<T>> onward_, back_;  // [species, hidden layer]
  std::vector<std::unique_ptr<Worker>> workers_;
};

extern template class NetworkGemm<float>;
extern template class NetworkGemm<double>;

}  // namespace rutile

#endif  // RUTILE_LIB_NETWORK_KERNELS_NETWORK_GEMM_H_
