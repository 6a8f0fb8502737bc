// Moments of neighbors that are weighted by numbers which the neighbors send, and their derivatives: the features of a
// second layer of a many-body potential.
//
//   x_{i,(k n l m)} = scale_{n l m} sum over neighbors j of u_{j k} phi_n(r_ij) Y_lm(u_ij)
//
// With functions as in moment_options.h, these are the moments of MACE's later layers (I. Batatia et al., NeurIPS 2022,
// arXiv:2206.07697, eq. 8) for scalar messages u. With vectors, to u_{j k} is added w_{j k} . u_ij, the component of a
// vector that the neighbor sends along the unit vector u_ij from i to j, for the first of the numbers k. For the
// functions of all neighbors of an atom, [n, N (L + 1)^2], each sum is a product of matrices, and so is what goes back
// to the messages.
//
// The second order follows tangents: along v, the change of positions, and udot, that of messages,
//   xdot = sum of udot phi Y + u d(phi Y), and for xbar with its own tangent,
//   ubardot_{j k} = sum of xbardot phi Y + xbar d(phi Y).
// Where a pair has the number s = u + w . u_ij and q = sum of xbar phi Y,
//   sdot = udot + wdot . u_ij + w . d(u_ij),  wbar = sum of q u_ij,  wbardot = sum of qdot u_ij + q d(u_ij).
// Nothing else reaches the parameters, so that no second derivative of a function is needed.

#ifndef RUTILE_LIB_DESCRIPTOR_MESSAGE_MOMENTS_H_
#define RUTILE_LIB_DESCRIPTOR_MESSAGE_MOMENTS_H_

#include <cstdint>
#include <memory>

#include "absl/types/span.h"
#include "lib/descriptor/descriptor_derivatives.h"
#include "lib/descriptor/moment_options.h"

namespace rutile {

// A structure of `atoms` atoms whose neighbors are in `state`, as MakeMomentDerivatives of the same options left them
// after Features or Restore. row: [atoms], the row of each atom in arrays over atoms, so that those of several
// structures may be sorted together. The first `centers` atoms have sums over neighbors, and rows of x; the others,
// such as atoms of another process, only send.
template <typename T>
struct MessageSites {
  const typename DescriptorDerivatives<T>::State* state;
  const int32_t* row;
  int64_t atoms, centers;
};

// T is float or double. One thread at a time may use an object. Memory grows to that of the atom with most neighbors.
// Arrays u, ubar and so on have rows of num_messages numbers and, behind them, [3, num_vectors] the x, y and z of
// vectors; x, xbar and so on have rows of num_features(). Methods
// overwrite the rows of the structure's atoms: all for u and its like, those of centers for x and its like.
template <typename T>
class MessageMoments {
 public:
  // num_vectors: at most num_messages. scale: [N (L + 1)^2]. Options must be valid.
  MessageMoments(const MomentOptions& options, int num_messages, int num_vectors, absl::Span<const double> scale);
  ~MessageMoments();

  int num_features() const;

  void Sums(const MessageSites<T>& sites, const T* u, T* x);

  // Computes ubar from xbar. force: [3 atoms], to which -d(xbar . x)/dr at constant u is added, in the order of the
  // structure's atoms; strain_gradient: [9], to which the sum of d(xbar . x)/dr_ij (outer) r_ij is added; atom_strain:
  // [9 atoms], half of each term to either atom. All may be null; atom_strain needs strain_gradient, that needs force.
  void Slopes(const MessageSites<T>& sites, const T* u, const T* xbar, T* ubar, T* force, double* strain_gradient,
              double* atom_strain);

  // Computes xdot. direction: [3 atoms] in the order of the structure's atoms; strain: [9] or null; r_ij changes by
  // direction_j - direction_i + strain . r_ij.
  void Tangents(const MessageSites<T>& sites, const T* u, const T* udot, const T* direction, const double* strain,
                T* xdot);

  // Computes ubardot. direction, strain: as above.
  void TangentSlopes(const MessageSites<T>& sites, const T* xbar, const T* xbardot, const T* direction,
                     const double* strain, T* ubardot);

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

extern template class MessageMoments<float>;
extern template class MessageMoments<double>;

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_MESSAGE_MOMENTS_H_
