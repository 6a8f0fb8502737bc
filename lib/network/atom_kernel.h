// What training and prediction need of a kernel that maps the features of atoms to energies: values, gradients, and the
// second order. NetworkKernel is the kernel of networks; lib/many_body has that of many-body potentials, and
// MakeAtomKernel, which chooses.

#ifndef RUTILE_LIB_NETWORK_ATOM_KERNEL_H_
#define RUTILE_LIB_NETWORK_ATOM_KERNEL_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lib/network/kernel_plan.h"
#include "lib/network/message_sums.h"

namespace rutile {

// The input of a call: the atoms of some structures, sorted by species. A = atoms.
template <typename T>
struct AtomRows {
  absl::Span<const T> x;                     // [A, F] standardized features, row-major
  absl::Span<const int64_t> species_offset;  // [num_species + 1]: rows of species s are [offset[s], offset[s + 1])
  absl::Span<const int32_t> structure;       // [A] structure whose energy the atom adds to
  // [A], or empty. If given, the features of atom a are row row[a] of x, which may have any number of rows, so that
  // features need not be copied. Only Forward, Backward and Evaluate accept it; the passes with derivatives by x do
  // not.
  absl::Span<const int64_t> row = {};
  // The output of Transpose for x and row, or null. Evaluate reads it instead of them.
  const T* transposed = nullptr;
  int64_t num_atoms() const { return species_offset.back(); }
};

// Evaluates and differentiates the energies of atoms for a batch of structures. T is float or double. One thread at a
// time may use an object; the pool's threads work inside a call. Memory grows with the largest batch and is not
// released, so that later calls do not allocate.
template <typename T>
class AtomKernel {
 public:
  virtual ~AtomKernel() = default;

  // Sets how messages are summed, which a potential of two layers needs before all calls with rows; others have no use
  // for it. sums: not owned; it must know the atoms of each call.
  virtual void SetMessageSums(MessageSums<T>* sums) {}

  // Freezes networks: their gradients are not computed, and the caller's values of them are left unchanged. [species],
  // or empty to freeze none.
  virtual void SetFrozen(const std::vector<bool>& species) = 0;

  // Sets the plan from the next Forward on. CHECK-fails on a plan that is not valid.
  virtual void SetPlan(const KernelPlan& plan) = 0;
  virtual const KernelPlan& plan() const = 0;

  // Turns on mixed precision from the next Forward on: factors of matrix products are rounded to bfloat16, sums stay
  // fp32, and the algorithm is kGemm whatever the plan says. Off by default. CHECK-fails for double.
  virtual void SetRounding(bool on) = 0;

  // Allocates the memory of batches of at most atoms[s] atoms of each species s, so that Forward, Backward and Evaluate
  // do not allocate; with second_order no method does. Call it after SetPlan and SetRounding(true), if these are used.
  virtual void Reserve(absl::Span<const int64_t> atoms, bool second_order) = 0;

  // Computes the energy sums. sums: [structures], overwritten, in the network's units, added in fp64. parameters:
  // [num_parameters]. CHECK-fails when lengths disagree. Stores what Backward needs until the next call.
  virtual void Forward(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<double> sums) = 0;

  // Adds d loss/d parameters to `gradients` [num_parameters]. Call it once after Forward with the same parameters and
  // rows. slopes: [structures] d loss/d sums.
  virtual void Backward(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<const double> slopes,
                        absl::Span<T> gradients) = 0;

  // Transpose stores the features of these rows in the form that the plan's blocks are computed in, for callers that
  // evaluate the same rows again and again: this is a third of the work of networks' Evaluate. transposed:
  // [TransposedSize(rows)], 64-byte aligned, overwritten. A kernel without such a form has size 0.
  virtual int64_t TransposedSize(const AtomRows<T>& rows) const = 0;
  virtual void Transpose(const AtomRows<T>& rows, T* transposed) = 0;

  // Computes the sums as Forward does, but stores nothing for Backward. atom_energies: [A], overwritten; may be empty.
  virtual void Evaluate(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<double> sums,
                        absl::Span<T> atom_energies = {}) = 0;

  // Computes d energy of each atom / d its x, from which forces follow. x_gradients: [A, F], overwritten.
  virtual void InputGradients(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<T> x_gradients) = 0;

  // ---- second order, for losses that contain derivatives of the energy; network_fused_tangent.h has the formulas
  //
  // Computes energy sums (as Forward does) and x_gradients: [A, F], overwritten, d energy of each atom / d its x.
  // Stores what the functions below need until the next call of any other method.
  virtual void ForwardWithInputGradients(absl::Span<const T> parameters, const AtomRows<T>& rows,
                                         absl::Span<double> sums, absl::Span<T> x_gradients) = 0;
  // Adds to `gradients` [num_parameters] the derivatives of sum_s slopes[s] sums[s] by the parameters. slopes:
  // [structures]. This method and the two below follow ForwardWithInputGradients with the same parameters and rows, in
  // any order and any number of times.
  virtual void AddEnergyGradients(absl::Span<const T> parameters, const AtomRows<T>& rows,
                                  absl::Span<const double> slopes, absl::Span<T> gradients) = 0;
  // Adds to `gradients` the derivatives of sum_a tangents[a] . x_gradients[a] by the parameters, by a tangent forward
  // pass and its reverse. tangents: [A, F], treated as constants.
  virtual void AddTangentGradients(absl::Span<const T> parameters, const AtomRows<T>& rows,
                                   absl::Span<const T> tangents, absl::Span<T> gradients) = 0;
  // Does the work of both methods above at the cost of AddTangentGradients alone.
  virtual void AddEnergyAndTangentGradients(absl::Span<const T> parameters, const AtomRows<T>& rows,
                                            absl::Span<const double> slopes, absl::Span<const T> tangents,
                                            absl::Span<T> gradients) = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_NETWORK_ATOM_KERNEL_H_
