// Makes the tables of descriptor_tables.h from a descriptor's options.

#ifndef RUTILE_LIB_POTENTIAL_GPU_DESCRIPTOR_HOST_TABLES_H_
#define RUTILE_LIB_POTENTIAL_GPU_DESCRIPTOR_HOST_TABLES_H_

#include "lib/descriptor/chebyshev_options.h"
#include "lib/potential/gpu/descriptor_tables.h"

namespace rutile {

// CHECK-fails when the options are not valid, or have more than kMaxAngularSets angular sets.
HostDescriptorTables MakeHostDescriptorTables(const ChebyshevOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_GPU_DESCRIPTOR_HOST_TABLES_H_
