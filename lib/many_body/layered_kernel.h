// Evaluates and differentiates many-body potentials of two layers: MACE with scalar messages (I. Batatia et al.,
// NeurIPS 2022, arXiv:2206.07697, Eqs. 8 to 13). Each layer is a ManyBodyKernel; the second sees moments of the
// neighbors' densities weighted by messages, as the first sees those of each species:
//
//   u_j = V s(M_j) / sqrt(K)                       M_j: invariants of atom j in the first layer, V of its species
//   w_j = V' a(A_j1) / sqrt(K)                     A_j1: moments of l = 1, so that w are vectors; may be left out
//   x2_i = sum over neighbors j of (u_j + w_j . u_ij) phi(r_ij) Y(r_ij)          MessageSums
//   energy_i = layer1(x_i) + layer2(x2_i)
//
// s(M) = M / sqrt(1 + M^2) and a(A) = A / sqrt(1 + |A|^2) bound what an atom can send, which MACE does not: products of
// products of moments would grow with the ninth power of the density where atoms come closer than in the data.
//
// Backward, with a bar for the derivative of the energy and T for the transpose:
//
//   x2bar from layer 2,  ubar_j = sum over i of x2bar_i phi Y,  Mbar += s' V^T ubar / sqrt(K),  xbar from layer 1
//   and A1bar += a' V'^T wbar / sqrt(K), with wbar of MessageSums
//
// Second order, along tangents of x and moves of atoms (a dot), is the derivative of all of this along them: udot,
// x2dot, x2bardot from layer 2, ubardot, and gradients of both layers; V has ubardot s + ubar s' Mdot, and V'
// likewise.

#ifndef RUTILE_LIB_MANY_BODY_LAYERED_KERNEL_H_
#define RUTILE_LIB_MANY_BODY_LAYERED_KERNEL_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lib/machine/aligned_buffer.h"
#include "lib/machine/parallel_for.h"
#include "lib/many_body/bounded_vectors.h"
#include "lib/many_body/many_body_kernel.h"
#include "lib/network/atom_kernel.h"
#include "lib/network/kernel_plan.h"
#include "lib/network/message_sums.h"
#include "lib/network/network_shape.h"

namespace rutile {

// The kernel of shapes with messages; atom_kernel.h has the contract. T is float or double. SetMessageSums comes before
// all calls with rows, and the object must know the structures of each. ForwardWithInputGradients asks it for forces,
// and x_gradients are what is left: derivatives by positions at constant messages are with the object. For tangents of
// x its direction is the one that the tangents come from.
template <typename T>
class LayeredKernel final : public AtomKernel<T> {
 public:
  // pool: not owned, must outlive the kernel; null means one thread.
  explicit LayeredKernel(const NetworkShape& shape, ThreadPool* pool = nullptr);

  void SetMessageSums(MessageSums<T>* sums) override { message_sums_ = sums; }
  // Gradients of a frozen species are computed and dropped, as other species' need the way through its atoms.
  void SetFrozen(const std::vector<bool>& species) override;
  void SetPlan(const KernelPlan& plan) override;
  const KernelPlan& plan() const override { return first_.plan(); }
  void SetRounding(bool on) override { first_.SetRounding(on); }
  void Reserve(absl::Span<const int64_t> atoms, bool second_order) override;
  void Forward(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<double> sums) override;
  void Backward(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<const double> slopes,
                absl::Span<T> gradients) override;
  int64_t TransposedSize(const AtomRows<T>& rows) const override { return 0; }
  void Transpose(const AtomRows<T>& rows, T* transposed) override {}
  void Evaluate(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<double> sums,
                absl::Span<T> atom_energies = {}) override;
  void InputGradients(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<T> x_gradients) override;
  void ForwardWithInputGradients(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<double> sums,
                                 absl::Span<T> x_gradients) override;
  void AddEnergyGradients(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<const double> slopes,
                          absl::Span<T> gradients) override;
  void AddTangentGradients(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<const T> tangents,
                           absl::Span<T> gradients) override;
  void AddEnergyAndTangentGradients(absl::Span<const T> parameters, const AtomRows<T>& rows,
                                    absl::Span<const double> slopes, absl::Span<const T> tangents,
                                    absl::Span<T> gradients) override;

  // ---- in steps, for atoms some of whose neighbors are no rows: images, or atoms of another process, which send what
  // others have computed
  //
  //   kernel.SendMessages(parameters, rows, sums, u);           // u [rows, width]
  //   (the caller adds the messages of all other atoms to u)
  //   kernel.AddSecondLayer(parameters, rows, u, sums);
  //   kernel.MessageSlopes(u, forces, ubar);                    // of all atoms
  //   (the caller adds to ubar of the rows what other atoms' energies have)
  //   kernel.FirstLayerSlopes(rows, ubar, x_gradients);
  //
  // Without sums, rows have no energies of their own: they only send, and the two steps between are left out.
  // MessageSums knows where messages of all atoms are in u and ubar; width is MomentShape::message_width().
  void SendMessages(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<double> sums, T* u);
  // Adds energies of the second layer to sums, and keeps their derivatives by what the rows receive.
  void AddSecondLayer(absl::Span<const T> parameters, const AtomRows<T>& rows, const T* u, absl::Span<double> sums);
  void MessageSlopes(const T* u, bool forces, T* ubar);
  // Computes x_gradients from ubar, of which it reads that of the rows.
  void FirstLayerSlopes(const AtomRows<T>& rows, const T* ubar, T* x_gradients);

 private:
  // Arrays over atoms: messages [A, width], features [A, F2], invariants [A, padded channels], vectors [A, 3, padded
  // channels].
  int64_t num_messages() const { return shape_.moments.messages; }
  int64_t num_vectors() const { return shape_.moments.vector_messages; }
  int64_t width() const { return shape_.moments.message_width(); }
  void TakeBuffers(int64_t num_atoms, bool second_order);
  // Packs the weights of messages.
  void PackMessages(absl::Span<const T> parameters, const AtomRows<T>& rows);
  AtomRows<T> SecondRows(const AtomRows<T>& rows) const;
  void Propagate(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<double> sums, bool forces,
                 T* x_gradients);
  // Computes s(M) and s', and after it s' Mdot and s'' Mdot, [A, padded channels].
  void Bound(int64_t num_atoms);
  void BoundTangents(int64_t num_atoms);
  VectorsOfAtoms Vectors(int64_t num_atoms) const;
  // out [A, width] = V m and V' a; and m [A, padded channels] = V^T u, a [A, 3, padded channels] = V'^T w. Without
  // vectors a is not used.
  void Send(const AtomRows<T>& rows, const T* m, const T* a, T* out) const;
  void Receive(const AtomRows<T>& rows, const T* u, T* m, T* a) const;
  // Adds the sum over atoms of factor u m^T to message_gradients_, and of factor w a^T to vector_gradients_. factor:
  // [structures], or empty for 1.
  void AddMessageGradients(const AtomRows<T>& rows, absl::Span<const double> factor, const T* u, const T* m,
                           const T* a);
  void ClearMessageGradients();
  void AddMessageGradientsTo(absl::Span<T> gradients) const;

  const NetworkShape shape_, first_shape_, second_shape_;
  ManyBodyKernel<T> first_, second_;
  MessageSums<T>* message_sums_ = nullptr;
  std::vector<bool> frozen_;                             // [species], or empty
  AlignedBuffer<T> message_weights_;                     // [species, padded channels, messages] V^T / sqrt(K)
  AlignedBuffer<T> vector_weights_;                      // [species, padded channels, vectors] V'^T / sqrt(K)
  std::vector<T> message_gradients_, vector_gradients_;  // like them
  AlignedBuffer<T> messages_, message_slopes_, message_tangents_, message_slope_tangents_;  // u, ubar, and dots
  AlignedBuffer<T> features_, feature_slopes_, feature_tangents_, feature_slope_tangents_;  // x2, x2bar, and dots
  AlignedBuffer<T> bounded_, bound_slopes_;                                                 // s, s'
  AlignedBuffer<T> bounded_tangents_, bound_slope_tangents_;                                // s' Mdot, s'' Mdot
  // V^T ubar, its tangent, and what they add to Mbar or its tangent.
  AlignedBuffer<T> received_, received_tangents_, invariant_slopes_;
  // a and adot, V'^T wbar and its tangent, and what they add to A1bar and to its tangent.
  AlignedBuffer<T> vectors_, vector_tangents_, received_vectors_, received_vector_tangents_;
  AlignedBuffer<T> vector_slopes_, vector_slope_tangents_;
  std::vector<double> second_sums_;
  std::vector<T> second_energies_;
};

extern template class LayeredKernel<float>;
extern template class LayeredKernel<double>;

}  // namespace rutile

#endif  // RUTILE_LIB_MANY_BODY_LAYERED_KERNEL_H_
