// Structures and a potential for tests of influence: as different as structures can be.

#ifndef RUTILE_LIB_POTENTIAL_INFLUENCE_GRADIENT_TESTING_H_
#define RUTILE_LIB_POTENTIAL_INFLUENCE_GRADIENT_TESTING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "lib/descriptor/chebyshev_options.h"
#include "lib/network/network_shape.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/model/potential_file.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Ti, O and H with a short cutoff.
ChebyshevOptions AwkwardDescriptor();

// Writes `kNumAwkward` structures to a file under TEST_TMPDIR and returns its path. In this order: one atom alone; one
// atom in its own images; two species with all labels; without an energy; without forces; with neither; more atoms of
// one species than a vector has lanes; weight 0.25; weight 0; as number 2.
inline constexpr int64_t kNumAwkward = 10;
std::string WriteAwkwardStructures();

// They, read again: their weights too.
AtomicData AwkwardStructures();
// The same from a file of features, computed in F64 (or F32), without neighbors.
AtomicData AwkwardFeatures(DType dtype);

// Random parameters; standard scales that are not 1; atomic energies. F64.
Potential AwkwardPotential(const std::vector<int>& hidden, Activation activation);

// The largest |a - b| over the largest |b|; |a| where b is all zero.
double RelativeDifference(absl::Span<const double> a, absl::Span<const double> b);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_INFLUENCE_GRADIENT_TESTING_H_
