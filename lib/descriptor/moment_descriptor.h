// Computes moments from a neighbor list, in plain loops: for statistics and files, where speed matters little.

#ifndef RUTILE_LIB_DESCRIPTOR_MOMENT_DESCRIPTOR_H_
#define RUTILE_LIB_DESCRIPTOR_MOMENT_DESCRIPTOR_H_

#include <memory>

#include "lib/descriptor/descriptor.h"
#include "lib/descriptor/moment_options.h"

namespace rutile {

// Returns the descriptor that moment_options.h defines. It computes in fp64; the overload for float rounds the result.
// Options must be valid.
std::unique_ptr<const Descriptor> MakeMomentDescriptor(const MomentOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_MOMENT_DESCRIPTOR_H_
