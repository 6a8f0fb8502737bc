// Evaluates and differentiates many-body potentials: one layer of MACE with radial functions that are linear in a fixed
// basis (I. Batatia et al., NeurIPS 2022, Eqs. 8 to 10), which is also the atomic cluster expansion with learned
// channels (R. Drautz, Phys. Rev. B 99, 014104 (2019)). many_body_reference.h defines the same with LibTorch
// operations.
//
// The features x [S, N, (L + 1)^2] of an atom are sums over its neighbors of each species s, of radial functions n
// times spherical harmonics (in any orthonormal basis that agrees with moment_harmonics.h up to factors of l, which C
// absorbs). With the parameters of the atom's species (network_shape.h):
//
//   A_{k,lm} = 1/sqrt(S N) sum_{s,n} C_{k,l,s,n} x_{s,n,lm}
//   M_k      = sum_p w_{k,p} I_p(A_k)                            I_p: product_table.h
//   energy   = 1/sqrt(K) sum_k v_k M_k + network(M)
//
// Second order. For tangents t of x, let a dot be the derivative along t, and a bar that of the energy by a quantity:
//
//   Adot = C t,  Mdot = sum_p w_p dI_p . Adot
//   Mbar = v / sqrt(K) + network',  Mbardot = network'' Mdot        (NetworkKernel::AddGradientsAndInputSlopes)
//   Abar = Mbar sum_p w_p dI_p,  Abardot = its derivative           (the same sweep in numbers with tangents)
//   by w: Mbardot I + Mbar Idot,  by C: Abardot x + Abar t,  by v: Mdot / sqrt(K)
//
// Channels are padded to whole cache lines with coefficients of 0. Atoms are cut into blocks by their number alone, and
// sums of blocks are added in order, so that any number of threads gives the same bits.

#ifndef RUTILE_LIB_MANY_BODY_MANY_BODY_KERNEL_H_
#define RUTILE_LIB_MANY_BODY_MANY_BODY_KERNEL_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lib/machine/aligned_buffer.h"
#include "lib/machine/parallel_for.h"
#include "lib/many_body/moment_passes.h"
#include "lib/many_body/parameter_packing.h"
#include "lib/many_body/product_passes.h"
#include "lib/many_body/product_table.h"
#include "lib/network/atom_kernel.h"
#include "lib/network/kernel_plan.h"
#include "lib/network/network_kernel.h"
#include "lib/network/network_shape.h"

namespace rutile {

// The kernel of shapes with moments; atom_kernel.h has the contract. T is float or double. A plan is that of the
// networks. There is no mixed precision: SetRounding(true) CHECK-fails. There is no transposed form of the features.
template <typename T>
class ManyBodyKernel final : public AtomKernel<T> {
 public:
  // pool: not owned, must outlive the kernel; null means one thread.
  explicit ManyBodyKernel(const NetworkShape& shape, ThreadPool* pool = nullptr);
  // A layer of a model makes its kernel by this: parameters and gradients of all calls are those of the whole model.
  ManyBodyKernel(const NetworkShape& shape, const SpeciesPlaces& model, ThreadPool* pool);

  // AtomKernel. Forward and ForwardWithInputGradients store (L + 1)^2 numbers for each channel of each atom.
  void SetFrozen(const std::vector<bool>& species) override;
  void SetPlan(const KernelPlan& plan) override;
  const KernelPlan& plan() const override { return networks_.plan(); }
  void SetRounding(bool on) override;
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

  // ---- the same in steps, for layers between which numbers are exchanged (layered_kernel.h); nothing may be frozen
  //
  // M and Mdot are [A, padded_channels()]. ForwardInvariants computes M and the energy sums, FinishForward what
  // ForwardWithInputGradients has besides, for a number that changes with M by m_slopes more than the energies do;
  // m_slopes and x_gradients may be null. Without sums, M alone is computed, and the number has no energies in it;
  // parameters have no gradients then.
  //
  // moments() is A [A, (L + 1)^2, padded_channels()], in which that of l = 1 has rows 1 to 3 of each atom. It is there
  // after a forward pass, and after KeepMoments also after Evaluate. The number may change with A of l = 1, too, by
  // vector_slopes [A, 3, padded_channels()], or null, which must stay until the next forward pass.
  int padded_channels() const { return sizes_.channels; }
  void ForwardInvariants(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<double> sums);
  const T* invariants() const { return invariants_.data(); }
  void KeepMoments() { keeps_moments_ = true; }
  // Leaves out the gradients of these species [S], which are computed all the same.
  void DropGradients(const std::vector<bool>& species) { dropped_ = species; }
  const T* moments() const { return moments_.data(); }
  int64_t moments_per_atom() const { return AtomSize(); }
  void FinishForward(const AtomRows<T>& rows, const T* m_slopes, T* x_gradients, const T* vector_slopes = nullptr);
  // ForwardTangents computes Mdot and Adot, AddGradientsAlong the gradients of AddTangentGradients, where m_slopes
  // change by m_slope_tangents and vector_slopes by vector_slope_tangents, and x_gradient_tangents [A, F], how
  // x_gradients change. All three may be null.
  void ForwardTangents(const AtomRows<T>& rows, const T* tangents);
  const T* tangent_invariants() const { return tangent_invariants_.data(); }
  const T* tangent_moments() const { return tangent_moments_.data(); }
  void AddGradientsAlong(const AtomRows<T>& rows, const T* tangents, const T* m_slope_tangents, absl::Span<T> gradients,
                         T* x_gradient_tangents, const T* vector_slope_tangents = nullptr);

 private:
  struct Block {
    int species;
    int64_t begin;  // first atom
    int count;
  };
  // A run of blocks of one species that share a buffer of gradients.
  struct Piece {
    int species;
    int64_t begin, end;  // range in blocks_
  };
  enum class Kept { kNothing, kValues, kDerivatives };

  bool IsFrozen(int species) const { return !frozen_.empty() && frozen_[species]; }
  const T* CoefficientsOf(int species) const { return coefficients_.data() + species * places_.size; }
  int64_t AtomSize() const { return int64_t{sizes_.num_components()} * sizes_.channels; }
  AtomRows<T> NetworkRows(const AtomRows<T>& rows) const;
  // Points x [count] at the features of a block's atoms: at those of `features` [A, F], or where rows.row says.
  void PointAtRows(const Block& block, const AtomRows<T>& rows, absl::Span<const T> features, const T** x) const;
  // Checks lengths, cuts atoms into blocks and makes coefficients_ and network_parameters_.
  void Start(absl::Span<const T> parameters, const AtomRows<T>& rows, bool keeps_moments);
  // Packs the parameters of a species, unless the same numbers were packed last: comparing them takes a fraction of the
  // time, and most calls of an evaluation or of the pieces of a step have those of the call before.
  void PackSpecies(int species, absl::Span<const T> parameters);
  void TakeBuffers(int64_t num_atoms, bool second_order);
  // Computes M of all atoms, and v M / sqrt(K) in linear_; stores A if `keep`.
  void ComputeInvariants(const AtomRows<T>& rows, bool keep);
  // Turns network' in slopes_ into Mbar, with m_slopes added, and fills x_gradients. Both may be null.
  void FinishSlopes(const T* m_slopes, T* x_gradients, bool energies = true);
  void AddLinear(const AtomRows<T>& rows, absl::Span<double> sums) const;
  // slopes may be empty or tangents null.
  void AddGradients(const AtomRows<T>& rows, absl::Span<const double> slopes, const T* tangents,
                    absl::Span<T> gradients);
  void AddNetworkGradientsAlong(const AtomRows<T>& rows, absl::Span<const double> slopes);
  // Adds the gradients of what comes before the networks, then those of the networks from network_gradients_.
  void AddMomentGradients(const AtomRows<T>& rows, const double* slopes, const T* tangents, absl::Span<T> gradients,
                          T* x_gradient_tangents);
  // Adds vector_slopes_ of a block to bar [atom, (L + 1)^2, K] and their tangents to bar_dot, or null. slopes: factors
  // by structure, whose share is in bar_dot if that is given, else in bar; null for 1 in bar.
  void AddVectorSlopes(const Block& block, const AtomRows<T>& rows, const double* slopes, T* bar, T* bar_dot) const;
  void AddPiece(const Piece& piece, const AtomRows<T>& rows, const double* slopes, const T* tangents, int worker,
                T* sum, T* x_gradient_tangents);
  void CheckFollows(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<T> gradients) const;
  template <typename Body>
  void ForEach(int64_t n, const Body& body);
  int num_workers() const { return pool_ ? pool_->num_threads() : 1; }

  int64_t num_model_parameters() const { return shape_.num_species * model_.stride; }

  const NetworkShape shape_;
  const SpeciesPlaces model_;
  const ParameterPacking<T> packing_;
  const MomentSizes sizes_;
  const typename ParameterPacking<T>::Places places_;
  const NetworkShape network_shape_;  // of the networks over padded channels
  const ProductTable<T> table_;
  ThreadPool* const pool_;
  NetworkKernel<T> networks_;
  std::vector<bool> frozen_, dropped_;  // [species], or empty
  Kept kept_ = Kept::kNothing;
  bool has_energies_ = true;  // false after ForwardInvariants without sums
  bool keeps_moments_ = false;
  const T *vector_slopes_ = nullptr, *vector_slope_tangents_ = nullptr;  // not owned
  std::vector<Block> blocks_;
  std::vector<Piece> pieces_;
  AlignedBuffer<T> coefficients_;        // [species, places_.size]
  std::vector<T> network_parameters_;    // of network_shape_
  std::vector<T> packed_parameters_;     // those that coefficients_ and network_parameters_ were made of
  std::vector<bool> is_packed_;          // [species]
  std::vector<T> network_gradients_;     // of network_shape_
  AlignedBuffer<T> moments_;             // A [A, (L + 1)^2, K]
  AlignedBuffer<T> tangent_moments_;     // Adot
  AlignedBuffer<T> invariants_;          // M [A, K]
  AlignedBuffer<T> tangent_invariants_;  // Mdot
  AlignedBuffer<T> slopes_;              // Mbar [A, K]
  AlignedBuffer<T> tangent_slopes_;      // Mbardot
  AlignedBuffer<T> workers_;             // [worker, block of A, of Abar and Abardot, of seeds]
  int64_t worker_size_ = 0;
  AlignedBuffer<T> piece_gradients_;       // [piece, places_.gradients_size]
  std::vector<T> linear_, atom_energies_;  // [A]
};

extern template class ManyBodyKernel<float>;
extern template class ManyBodyKernel<double>;

}  // namespace rutile

#endif  // RUTILE_LIB_MANY_BODY_MANY_BODY_KERNEL_H_
