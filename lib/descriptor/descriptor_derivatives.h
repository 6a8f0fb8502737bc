// Features and products with their derivatives, nothing stored but neighbors: what force training is made of.
//
// With G_in the features of atom i and J = dG/dr never formed:
//   Features  G                                       and keeps what the two below need
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

// One structure of N atoms; it owns nothing.
struct StructureGeometry {
  absl::Span<const uint8_t> species;  // [N] indices into the descriptor's species
  absl::Span<const double> position;  // [3N] Angstrom, as given
  Matrix3 cell = {};                  // Angstrom, rows are lattice vectors
  PairView pairs;                     // to at least the descriptor's cutoff; what is farther does not count
  TripletView triplets;               // for AngularMethod::kTriplets; empty: found from the pairs
};

// T is float or double, the type of the arithmetic. Immutable and shared by threads.
template <typename T>
class DescriptorDerivatives {
 public:
  // What Features leaves for Vjp and Jvp: sorted neighbors, moments. It grows to the largest structure that it sees
  // and keeps its memory. It does not refer to the geometry's memory after Features has returned.
  class State {
   public:
    virtual ~State() = default;
  };

  // What Features leaves, without the memory that it works in: for structures that come again, with the same atoms in
  // the same places. Immutable, and refers to nothing else.
  class Kept {
   public:
    virtual ~Kept() = default;
    virtual int64_t bytes() const = 0;
  };

  virtual ~DescriptorDerivatives() = default;

  virtual int num_features() const = 0;
  // Neighbors up to here are needed, Angstrom.
  virtual double cutoff() const = 0;
  virtual std::unique_ptr<State> MakeState() const = 0;

  // features: [N * F], row-major, overwritten. The values are those of Descriptor::Compute, to rounding.
  virtual void Features(const StructureGeometry& geometry, State* state, absl::Span<T> features) const = 0;

  // After Features. Null where it cannot be kept: with listed triplets, and by what is not made for speed.
  virtual std::unique_ptr<const Kept> Keep(const State& state) const = 0;
  // Instead of Features, for the structure that `kept` is of, whose Vjp and Jvp then have the same bits. The state
  // refers to `kept` until it sees another structure.
  virtual void Resume(const Kept& kept, State* state) const = 0;

  // After Features, any number of times. slopes: [N * F] dE/dG. sampled: [N], or empty for all atoms: where it is 0 the
  // force is not wanted and may be anything. force: [3N] eV/Angstrom if the slopes are in eV, overwritten: -dE/dr.
  // strain_gradient: [9] row-major, dE/d(strain) = sum over pairs of dE/dr_ij (outer) r_ij, overwritten, or null; only
  // with `sampled` empty.
  virtual void Vjp(State* state, absl::Span<const T> slopes, absl::Span<const uint8_t> sampled, absl::Span<T> force,
                   double* strain_gradient) const = 0;

  // After Features, any number of times. direction: [3N], zero for atoms where `sampled` (as above) is 0. strain: [9]
  // row-major or null: pairs change by direction_j - direction_i + strain . r_ij; only with `sampled` empty. tangents:
  // [N * F], overwritten: the directional derivative of the features.
  virtual void Jvp(State* state, absl::Span<const T> direction, absl::Span<const uint8_t> sampled, const double* strain,
                   absl::Span<T> tangents) const = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_DESCRIPTOR_DERIVATIVES_H_
