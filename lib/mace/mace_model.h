// A MACE model of scalar messages, as mace-torch trains it, with all constants folded into its matrices.
//
// S species, K channels, L the highest degree of the harmonics Y, P products, N radial functions; r is the vector from
// atom i to its neighbor j. Layers t = 1, 2 have
//
//   u_j   = first layer: up[s_j];  second layer: h_j up          [K] what an atom sends to its neighbors
//   R     = MLP(phi(r)) [L + 1, K]                               the MLP: x <- silu(x W), the last product without silu
//   A_lmk = sum over neighbors j of R_lk(r_ij) u_jk Y_lm(r_ij)
//   Z_lm  = A_lm mix[s_i, l]                                     [K], mix is [K, K] for each l
//   h_i   = (sum_p product[s_i, k, p] I_p(Z_k)) linear + first layer: skip[s_i];  second layer: h_i skip[s_i]
//   E_it  = h_i readout,  or silu(h_i readout_hidden) readout_out
//
//   E_i   = atomic_energies[s_i] + shift + scale * sum_t E_it    in eV
//
// phi_n(r) = sin(frequency_n r) / r * f(r / cutoff), with f the envelope of lib/descriptor/moment_options.h; harmonics
// and the products I_p are those of lib/descriptor/moment_harmonics.h and lib/many_body/product_table.h.
// Source: I. Batatia et al., NeurIPS 2022 (arXiv:2206.07697).

#ifndef RUTILE_LIB_MACE_MACE_MODEL_H_
#define RUTILE_LIB_MACE_MACE_MODEL_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lib/descriptor/moment_options.h"

namespace rutile {

struct MaceLayer {
  std::vector<double> up;                   // first layer [S, K]; second [K, K]
  std::vector<std::vector<double>> radial;  // [N, H1], [H1, H2], ... [H, (L + 1) K]: the matrices of the MLP
  std::vector<double> mix;                  // [M, L + 1, K, K], M = S or 1: one for all species
  std::vector<double> product;              // [S, K, P]
  std::vector<double> linear;               // [K, K]
  std::vector<double> skip;                 // first layer [S, K]; second [S, K, K]; empty for none
  std::vector<double> readout;              // [K], empty if the readout is an MLP
  std::vector<double> readout_hidden;       // [K, Q], else empty
  std::vector<double> readout_out;          // [Q], else empty
};

struct MaceModel {
  MomentOptions neighborhood;  // species, cutoff, N, L and the envelope; its basis is the Bessel one
  int channels = 0;
  std::vector<double> atomic_energies;  // [S] eV
  double scale = 1, shift = 0;          // eV
  std::vector<double> frequency;        // [N] 1/Angstrom
  std::vector<MaceLayer> layers;        // one or two
  // 0: R is the MLP. Else R is its spline of this many knots (radial_splines.h), at most kMostKnots.
  int radial_splines = 0;
  static constexpr int kMostKnots = 10000;

  int num_species() const { return static_cast<int>(neighborhood.species.size()); }
  int num_products() const;
  bool has_messages() const { return layers.size() > 1; }
};

// Returns an estimate of the floating-point operations of an evaluation, for profiles.
int64_t MaceFlop(const MaceModel& model, int64_t atoms, int64_t pairs, bool forces);

}  // namespace rutile

#endif  // RUTILE_LIB_MACE_MACE_MODEL_H_
