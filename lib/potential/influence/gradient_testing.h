// Structures and a potential for tests of influence. The structures are as different as possible.

#ifndef RUTILE_LIB_POTENTIAL_INFLUENCE_GRADIENT_TESTING_H_
#define RUTILE_LIB_POTENTIAL_INFLUENCE_GRADIENT_TESTING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "lib/descriptor/chebyshev_options.h"
#include "lib/descriptor/descriptor_options.h"
#include "lib/descriptor/moment_options.h"
#include "lib/network/network_shape.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/model/potential_file.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Returns a descriptor of Ti, O and H with a short cutoff.
ChebyshevOptions AwkwardDescriptor();
// Returns that of many-body potentials, of the same species.
MomentOptions AwkwardMoments();

// Writes `kNumAwkward` structures to a file under TEST_TMPDIR and returns its path. In this order: one atom alone; one
// atom in its own images; two species with all labels; one without an energy; without forces; with neither; with more
// atoms of one species than a vector has lanes; with weight 0.25; with weight 0; a copy of number 2.
inline constexpr int64_t kNumAwkward = 10;
std::string WriteAwkwardStructures();
// Returns the numbers of all of them, ascending.
std::vector<int64_t> AllAwkward();

// Reads the awkward structures, with their weights.
AtomicData AwkwardStructures(const DescriptorOptions& descriptor = AwkwardDescriptor());
// Reads the awkward structures from a file of features, computed in F64 or F32, without neighbors.
AtomicData AwkwardFeatures(DType dtype);

// Returns a potential with random parameters, scales other than 1, and atomic energies, in F64.
Potential AwkwardPotential(const std::vector<int>& hidden, Activation activation);
// Returns such a many-body potential over AwkwardMoments; messages: 0 for one layer, or what atoms send,
// with `vectors` besides.
Potential AwkwardManyBody(int messages, int vectors = 0);

// Returns the largest |a - b| divided by the largest |b|, or the largest |a| if b is zero.
double RelativeDifference(absl::Span<const double> a, absl::Span<const double> b);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_INFLUENCE_GRADIENT_TESTING_H_
