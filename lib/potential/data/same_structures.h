// Files of features and of neighbors of the same structures, given together.

#ifndef RUTILE_LIB_POTENTIAL_DATA_SAME_STRUCTURES_H_
#define RUTILE_LIB_POTENTIAL_DATA_SAME_STRUCTURES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/descriptor/chebyshev_options.h"

namespace rutile {

// What to go through so that each structure comes once: `inputs`, unless there are files of both kinds; then those of
// neighbors, from which forces follow, or, if forces are not wanted, those of features, whose energies need no more.
// Errors of AtomicData::Read: the files do not hold the same structures, or features are of another descriptor.
absl::StatusOr<std::vector<std::string>> InputsOnce(absl::Span<const std::string> inputs,
                                                    const ChebyshevOptions& descriptor, bool forces);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_DATA_SAME_STRUCTURES_H_
