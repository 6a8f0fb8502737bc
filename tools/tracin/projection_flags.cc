#include "tools/tracin/projection_flags.h"

#include <gflags/gflags.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "tools/common/run/given_flags.h"

DEFINE_int64(
    projection_dim, 0,
    "Numbers to which gradients (structures), or their long factors (triples: the maps that fc multiplies, errors over "
    "entities), are projected at random before they are multiplied: approximate. 0: exact.");
DEFINE_string(projection_type, "gaussian", "gaussian, rademacher or sparse.");

namespace rutile {

absl::StatusOr<ProjectionOptions> ProjectionFromFlags(const TracinFlags& flags) {
  ProjectionOptions options;
  if (FLAGS_projection_dim < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--projection_dim=", FLAGS_projection_dim, ": expected 1 or more, or 0 for exact products"));
  }
  if (FLAGS_projection_dim == 0) {
    RETURN_IF_ERROR(RefuseFlags("without --projection_dim", {"projection_type"}));
    return options;
  }
  RETURN_IF_ERROR(RefuseFlags("with --projection_dim, whose products are meant to be off", {"verify"}));
  const absl::StatusOr<ProjectionKind> kind = ParseProjectionKind(FLAGS_projection_type);
  if (!kind.ok() || *kind == ProjectionKind::kNone) {
    return absl::InvalidArgumentError(
        absl::StrCat("--projection_type=", FLAGS_projection_type, ": expected gaussian, rademacher or sparse"));
  }
  options.kind = *kind;
  options.dim = FLAGS_projection_dim;
  options.seed = flags.seed;
  return options;
}

}  // namespace rutile
