// Gradients made short: products with a random matrix R [P, dim], whose products with each other are those of the
// gradients on average, E[R R^T] = 1 (W. Johnson, J. Lindenstrauss, Contemp. Math. 26, 189 (1984)).
//
// R follows from the options alone: the same for all examples, checkpoints, tiles and threads.

#ifndef RUTILE_LIB_POTENTIAL_GRADIENT_PROJECTION_H_
#define RUTILE_LIB_POTENTIAL_GRADIENT_PROJECTION_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace rutile {

enum class ProjectionKind {
  kNone,
  kGaussian,    // R ~ N(0, 1 / dim)
  kRademacher,  // R = +-1 / sqrt(dim)
  kSparse       // one +-1 in each row: a count sketch (M. Charikar et al., ICALP 2002), P additions for each gradient
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

#endif  // RUTILE_LIB_POTENTIAL_GRADIENT_PROJECTION_H_
