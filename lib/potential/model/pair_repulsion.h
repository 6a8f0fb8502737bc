// The repulsion of nuclei that a potential adds to its networks: zbl_pair.h for each pair of species, summed over the
// pairs of a structure. Half of a pair's energy belongs to each of its atoms.

#ifndef RUTILE_LIB_POTENTIAL_MODEL_PAIR_REPULSION_H_
#define RUTILE_LIB_POTENTIAL_MODEL_PAIR_REPULSION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/descriptor/descriptor_derivatives.h"
#include "lib/descriptor/descriptor_options.h"
#include "lib/potential/model/zbl_pair.h"
#include "lib/structure/structure.h"

namespace rutile {

// Where the repulsion of each pair of species is switched off, in Angstrom: [M, M], symmetric, by the places of the
// species in the descriptor. Both are empty for a potential without a repulsion.
struct RepulsionRadii {
  std::vector<double> inner, outer;

  bool empty() const { return inner.empty() && outer.empty(); }
  friend bool operator==(const RepulsionRadii& a, const RepulsionRadii& b) {
    return a.inner == b.inner && a.outer == b.outer;
  }
  friend bool operator!=(const RepulsionRadii& a, const RepulsionRadii& b) { return !(a == b); }
};

// INVALID_ARGUMENT: sizes that are not those of the descriptor's species, other radii for i, j than for j, i, or a pair
// without 0 < inner < outer <= the descriptor's cutoff, up to which neighbors are known.
absl::Status CheckRepulsion(const RepulsionRadii& radii, const DescriptorOptions& descriptor);

// "C-C 0.608 to 1.216, C-H 0.428 to 0.856"; "" without a repulsion. Pairs that all have the same radii are not named.
std::string DescribeRepulsion(const RepulsionRadii& radii, const DescriptorOptions& descriptor);

// Immutable; shared by threads.
class PairRepulsion {
 public:
  // The repulsion of some atoms of a structure. Memory is reused.
  struct Result {
    double energy = 0;                // eV, the sum of atom_energy
    std::vector<double> atom_energy;  // [centers] eV
    std::vector<double> force;        // [3N] eV/Angstrom
    Matrix3 virial = {};              // sum of dE/dr_ij (outer) r_ij, eV
    std::vector<double> atom_virial;  // [9N] half of each pair's to either atom
  };

  PairRepulsion() = default;  // none
  // Radii must have passed CheckRepulsion.
  PairRepulsion(const RepulsionRadii& radii, const DescriptorOptions& descriptor);

  bool empty() const { return pairs_.empty(); }

  // Computes what the first num_centers atoms contribute: half of the energy of each of their pairs, with its forces on
  // all atoms. Only the pairs of centers are looked at. Sums over several calls with other centers are those of the
  // whole.
  void Compute(const StructureGeometry& geometry, int64_t num_centers, Result* result) const;

 private:
  int64_t num_species_ = 0;
  std::vector<ZblPair> pairs_;       // [M, M]
  double largest_outer_square_ = 0;  // Angstrom^2
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_MODEL_PAIR_REPULSION_H_
