// Evaluates one network on one block of atoms of one species, with the second derivatives that losses on d energy / d x
// (forces, stress) need: the inner loops of NetworkKernel's second order in the kFused form.
//
// With z_0 = x, a_l = W_l z_{l-1} + b_l, z_l = f(a_l), a linear last layer, and d_l = d energy / d a_l:
//
//   stored   d_last = 1,  d_l = f'(a_l) u_l,  u_l = W_{l+1}^T d_{l+1},  d energy / d x = W_1^T d_1
//   tangent  zdot_0 given,  adot_l = W_l zdot_{l-1},  zdot_l = f'(a_l) adot_l
//   reverse  mu_last = 0,  mu_l = f''(a_l) u_l adot_l + f'(a_l) W_{l+1}^T mu_{l+1}
//
// The sum over atoms of zdot_0 . d energy / d x then has the gradient d_l (x) zdot_{l-1} + mu_l (x) z_{l-1} with
// respect to W_l, and mu_l with respect to b_l (R-operator: B. A. Pearlmutter, Neural Comput. 6, 147 (1994)). Unlike
// ForwardBlock and BackwardBlock, these functions leave a tile that later passes only read. Its rows extend those of
// BlockLayout:
//
//   features | hidden layers | output | slopes | d of hidden layers | ones, d of the output | f'' u (twist, silu only)

#ifndef RUTILE_LIB_NETWORK_KERNELS_NETWORK_FUSED_TANGENT_H_
#define RUTILE_LIB_NETWORK_KERNELS_NETWORK_FUSED_TANGENT_H_

#include <cstdint>
#include <vector>

#include "lib/network/kernels/network_fused.h"
#include "lib/network/network_shape.h"

namespace rutile {

struct TangentLayout {
  explicit TangentLayout(const NetworkShape& shape, GradientForm gradients = GradientForm::kAuto);

  BlockLayout values;
  std::vector<int> delta_row;  // [layers] first row of each layer's d
  // [layers - 1]: first row of each hidden layer's f'' u, -1 if it follows from value and d
  std::vector<int> curvature_row;
  int num_rows;          // in the tile
  int num_scratch_rows;  // in the scratch memory of each function, whose contents do not matter between calls
};

// Computes energies and their derivatives by the features. Fills `tile` [num_rows * TileStride()]; the energy of atom a
// is tile[values.result_row * stride + a]. x, x_gradients: [n, F] row-major, 0 < n <= kBlockAtoms; x_gradients is
// overwritten with d energy / d x. parameters: those of this species. tile and scratch [num_scratch_rows *
// TileStride()] are 64-byte aligned.
void ForwardWithInputGradientsBlock(const TangentLayout& layout, const float* parameters, const float* x, int n,
                                    float* tile, float* scratch, float* x_gradients);
void ForwardWithInputGradientsBlock(const TangentLayout& layout, const double* parameters, const double* x, int n,
                                    double* tile, double* scratch, double* x_gradients);

// Computes parameter gradients after ForwardWithInputGradientsBlock. Adds to `gradients` (those of this species) the
// gradient of sum_a slopes[a] energy[a], with slopes [n], and that of sum_a tangents[a] . x_gradients[a], with tangents
// [n, F]. Either input may be null; both together cost as much as tangents alone. x_second: [n, F], overwritten with
// the derivatives of the same sums by x, W_1^T (mu_1 + slope d_1); may be null.
void AddGradientsBlock(const TangentLayout& layout, const float* parameters, int n, const float* slopes,
                       const float* tangents, const float* tile, float* scratch, float* gradients,
                       float* x_second = nullptr);
void AddGradientsBlock(const TangentLayout& layout, const double* parameters, int n, const double* slopes,
                       const double* tangents, const double* tile, double* scratch, double* gradients,
                       double* x_second = nullptr);

}  // namespace rutile

#endif  // RUTILE_LIB_NETWORK_KERNELS_NETWORK_FUSED_TANGENT_H_
