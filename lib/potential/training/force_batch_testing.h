// Makes batches of force training for tests, in the slow and plain way.

#ifndef RUTILE_LIB_POTENTIAL_TRAINING_FORCE_BATCH_TESTING_H_
#define RUTILE_LIB_POTENTIAL_TRAINING_FORCE_BATCH_TESTING_H_

#include <vector>

#include "absl/types/span.h"
#include "lib/descriptor/chebyshev_options.h"
#include "lib/structure/structure.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

struct ForceBatchOptions {
  std::vector<double> atomic_energies;  // [species] eV; empty: 0
  std::vector<bool> has_geometry;  // [structures]; empty: all. A structure without geometry has features and no pairs
  double skin = 0;                 // Angstrom: pairs are listed to this much beyond the cutoff
};

// Returns a batch with all tensors of lib/potential/training/reference/force_reference.h (`feature` only where needed),
// with pairs by BruteForceNeighborList. All weights are 1, and all forces of structures that have forces and geometry
// are sampled. Energies, forces and stress that a structure lacks are 0. CHECK-fails on an element that the descriptor
// lacks.
NamedTensors MakeForceBatch(absl::Span<const Structure> structures, const ChebyshevOptions& descriptor,
                            const ForceBatchOptions& options = {});

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_TRAINING_FORCE_BATCH_TESTING_H_
