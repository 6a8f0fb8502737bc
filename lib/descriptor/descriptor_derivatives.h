// Computes features and products with their derivatives for force training, storing only neighbors and moments.
//
// With G_in the features of atom i of C, and J = dG/dr, which is never formed:
//   Features  G                                       and stores what the two below need
//   Vjp       f = -J^T q    forces from q_in = dE/dG_in, and the derivative of the energy by the strain
//   Jvp       t = J v       how features change when atoms move along v and the cell is strained
// All three cost O(neighbors) with AngularMethod::kMoments.

#ifndef RUTILE_LIB_DESCRIPTOR_DESCRIPTOR_DERIVATIVES_H_
#define RUTILE_LIB_DESCRIPTOR_DESCRIPTOR_DERIVATIVES_H_

#include <cstdint>
#include <memory>

#include "absl/types/span.h"
#include "lib/neighbor/pair_view.h"
#include "lib/structure/structure.h"

namespace rutile {

// The geometry of one structure of N atoms, as views: it owns nothing. The first C of them are centers:
// pairs.num_atoms() is C, and all others, if any, are neighbors alone, which have no features. Without such atoms, C =
// N.
struct StructureGeometry {
  absl::Span<const uint8_t> species;  // [N] indices into the descriptor's species
  absl::Span<const double> position;  // [3N] Angstrom, as given
  Matrix3 cell = {};                  // Angstrom, rows are lattice vectors
  PairView pairs;                     // to at least the descriptor's cutoff; farther pairs are ignored
  TripletView triplets;               // for AngularMethod::kTriplets and C = N; if empty, they are found from the pairs
};

// Differentiates a descriptor. T, float or double, is the type of the arithmetic. Immutable and shared by threads.
template <typename T>
class DescriptorDerivatives {
 public:
  // The results of Features that Vjp and Jvp use: sorted neighbors, moments. Memory grows to that of the largest
  // structure and is reused. After Features has returned, the state does not refer to the geometry's memory.
  class State {
   public:
    virtual ~State() = default;
  };

  // A compact copy of a State without its scratch memory, for structures that come again with the same atoms in the
  // same places. Immutable, and refers to nothing else.
  class Snapshot {
   public:
    virtual ~Snapshot() = default;
    virtual int64_t bytes() const = 0;
  };

  virtual ~DescriptorDerivatives() = default;

  virtual int num_features() const = 0;
  // The radius in Angstrom within which neighbors are needed.
  virtual double cutoff() const = 0;
  virtual std::unique_ptr<State> MakeState() const = 0;

  // Computes features: [C * F], row-major, overwritten. The values are those of Descriptor::Compute, to rounding.
  virtual void Features(const StructureGeometry& geometry, State* state, absl::Span<T> features) const = 0;

  // Returns a copy of the state after Features, or null if the implementation has no such copy: with listed triplets,
  // and in the references. CHECK-fails if C is less than N.
  virtual std::unique_ptr<const Snapshot> TakeSnapshot(const State& state) const = 0;
  // Replaces Features for the structure that `snapshot` was made from; Vjp and Jvp then compute the same bits. The
  // state refers to `snapshot` until it is used for another structure.
  virtual void Restore(const Snapshot& snapshot, State* state) const = 0;

  // Computes forces, after Features and any number of times. slopes: [C * F] dE/dG. sampled: [N], or empty for all
  // atoms; where it is 0, the force is not needed and its value is unspecified. force: [3N] -dE/dr, in eV/Angstrom if
  // the slopes are in eV, overwritten. strain_gradient: [9] row-major, dE/d(strain) = sum over pairs of dE/dr_ij
  // (outer) r_ij, overwritten, or null; only allowed with `sampled` empty.
  virtual void Vjp(State* state, absl::Span<const T> slopes, absl::Span<const uint8_t> sampled, absl::Span<T> force,
                   double* strain_gradient) const = 0;

  // Does what Vjp does for all atoms, with the same bits, and divides the derivative by the strain among the atoms.
  // strain_gradient: [9], not null. atom_strain_gradient: [N * 9], overwritten; half of each pair's dE_i/dr_ij (outer)
  // r_ij goes to atom i, and half to j. The sum over atoms is strain_gradient to rounding. CHECK-fails after Features
  // with listed triplets.
  virtual void VjpByAtom(State* state, absl::Span<const T> slopes, absl::Span<T> force, double* strain_gradient,
                         absl::Span<double> atom_strain_gradient) const = 0;

  // Computes the directional derivative of the features, after Features and any number of times. direction: [3N], zero
  // for atoms where `sampled` (as in Vjp) is 0. strain: [9] row-major or null; r_ij changes by direction_j -
  // direction_i + strain . r_ij; only allowed with `sampled` empty. tangents: [C * F], overwritten.
  virtual void Jvp(State* state, absl::Span<const T> direction, absl::Span<const uint8_t> sampled, const double* strain,
                   absl::Span<T> tangents) const = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_DESCRIPTOR_DERIVATIVES_H_
