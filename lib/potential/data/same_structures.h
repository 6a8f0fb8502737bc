// Chooses among files of features and of neighbors of the same structures that were given together.

#ifndef RUTILE_LIB_POTENTIAL_DATA_SAME_STRUCTURES_H_
#define RUTILE_LIB_POTENTIAL_DATA_SAME_STRUCTURES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/descriptor/descriptor_options.h"

namespace rutile {

// Returns the files to read so that each structure comes once: `inputs`, unless there are files of both kinds. In that
// case, returns those of neighbors if forces are wanted, else those of features, which suffice for energies. Errors are
// those of AtomicData::Read: the files do not hold the same structures, or features are of another descriptor.
absl::StatusOr<std::vector<std::string>> InputsOnce(absl::Span<const std::string> inputs,
                                                    const DescriptorOptions& descriptor, bool forces);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_DATA_SAME_STRUCTURES_H_
