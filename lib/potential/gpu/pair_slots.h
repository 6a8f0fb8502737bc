// The neighbors of atoms as kernels of a GPU read them, in plain arrays.

#ifndef RUTILE_LIB_POTENTIAL_GPU_PAIR_SLOTS_H_
#define RUTILE_LIB_POTENTIAL_GPU_PAIR_SLOTS_H_

#include <cstdint>

#include "lib/gpu/device_function.h"

namespace rutile {

// Atoms whose neighbors lie interleaved: threads that go through neighbor k of 32 atoms that follow each other read 32
// numbers that follow each other.
inline constexpr int kGroupAtoms = 32;

// The most angular sets of a descriptor (ChebyshevOptions: the largest cutoff and `nearer`).
inline constexpr int kMaxAngularSets = 4;

// A view of the neighbors of A atoms in P slots. The neighbors of an atom are sorted by distance, all farther than the
// descriptor's min_cutoff, so that those within each cutoff are the first ones.
template <typename T>
struct PairSlots {
  int64_t num_atoms;
  const int64_t* group_first;                     // [groups] the first slot of each group of kGroupAtoms atoms
  const int32_t* radial_count;                    // [A] neighbors within rad_cutoff
  const int32_t* angular_count[kMaxAngularSets];  // each [A]: neighbors within the angular cutoff of set s
  const int32_t* count;                           // [A] all neighbors: the largest of these
  const T *x, *y, *z;                             // [P] r_ij = r_j - r_i, Angstrom
  const T* spin;                                  // [P] typespin of the neighbor: 1 where there is one species
  const int32_t* j;                               // [P] the neighbor's atom
  const int32_t* reverse;                         // [P] the slot of the same pair seen from j; -1 if j does not list it

  RUTILE_DEVICE int64_t Slot(int64_t atom, int k) const {
    return group_first[atom / kGroupAtoms] + int64_t{k} * kGroupAtoms + atom % kGroupAtoms;
  }
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_GPU_PAIR_SLOTS_H_
