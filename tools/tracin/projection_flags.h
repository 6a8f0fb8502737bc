// Reads --projection_dim and --projection_type, for both domains.

#ifndef RUTILE_TOOLS_TRACIN_PROJECTION_FLAGS_H_
#define RUTILE_TOOLS_TRACIN_PROJECTION_FLAGS_H_

#include "absl/status/statusor.h"
#include "lib/task/projection_options.h"
#include "tools/tracin/tracin_flags.h"

namespace rutile {

// Returns the projection, seeded by --seed. kNone: products are exact.
absl::StatusOr<ProjectionOptions> ProjectionFromFlags(const TracinFlags& flags);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_PROJECTION_FLAGS_H_
