// Which random matrix R [n, dim] gradients, or factors of them, are multiplied with to be made short, so that products
// with each other stay what they are on average, E[R R^T] = 1 (W. Johnson, J. Lindenstrauss, Contemp. Math. 26, 189
// (1984)).

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
  kSparse       // one +-1 in each row: a count sketch (M. Charikar et al., ICALP 2002), an addition for each number
};

// As flags say them: none, gaussian, rademacher, sparse.
absl::string_view ProjectionKindName(ProjectionKind kind);
// INVALID_ARGUMENT with the names there are.
absl::StatusOr<ProjectionKind> ParseProjectionKind(absl::string_view name);

struct ProjectionOptions {
  ProjectionKind kind = ProjectionKind::kNone;
  int64_t dim = 512;  // 1 to 1048576
  uint64_t seed = 0;
};

// INVALID_ARGUMENT naming --projection_dim and its range.
absl::Status CheckProjectionOptions(const ProjectionOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_PROJECTION_OPTIONS_H_
