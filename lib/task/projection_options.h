// Options of random projections, which shorten gradients or factors of them: they are multiplied by a random matrix R
// [n, dim] with E[R R^T] = 1, so that their products keep their mean (W. Johnson, J. Lindenstrauss, Contemp. Math. 26,
// 189 (1984)).

#ifndef RUTILE_LIB_TASK_PROJECTION_OPTIONS_H_
#define RUTILE_LIB_TASK_PROJECTION_OPTIONS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rutile {

enum class ProjectionKind {
  kNone,
  kGaussian,    // R ~ N(0, 1 / dim)
  kRademacher,  // R = +-1 / sqrt(dim)
  kSparse       // one +-1 in each row: a count sketch (M. Charikar et al., ICALP 2002), one addition per element
};

// Returns the name as in flags: none, gaussian, rademacher, sparse.
absl::string_view ProjectionKindName(ProjectionKind kind);
// Parses a name; INVALID_ARGUMENT listing the names if there is no such kind.
absl::StatusOr<ProjectionKind> ParseProjectionKind(absl::string_view name);

struct ProjectionOptions {
  ProjectionKind kind = ProjectionKind::kNone;
  int64_t dim = 512;  // 1 to 1048576
  uint64_t seed = 0;
};

// Returns INVALID_ARGUMENT naming --projection_dim and its range if it is out of range.
absl::Status CheckProjectionOptions(const ProjectionOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_PROJECTION_OPTIONS_H_
