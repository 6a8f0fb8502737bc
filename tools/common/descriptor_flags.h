// The descriptor's flags: one set, shared by every tool that needs them.

#ifndef RUTILE_TOOLS_COMMON_DESCRIPTOR_FLAGS_H_
#define RUTILE_TOOLS_COMMON_DESCRIPTOR_FLAGS_H_

#include "absl/status/statusor.h"
#include "lib/descriptor/chebyshev_options.h"

namespace rutile {

// From --species, --rad_order and so on, or from --fingerprints; both at once is an error, and so is neither.
absl::StatusOr<ChebyshevOptions> DescriptorOptionsFromFlags();

// From --angular.
AngularMethod AngularMethodFromFlags();

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_DESCRIPTOR_FLAGS_H_
