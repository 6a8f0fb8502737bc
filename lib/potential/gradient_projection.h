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
#include "lib/potential/row_products.h"

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

// R of the options for gradients of P numbers. T is float or double. Thread-safe. Holds P dim numbers, or 2 P of a
// sparse one.
template <typename T>
class GradientProjection {
 public:
  // CHECK-fails on kNone.
  GradientProjection(const ProjectionOptions& options, int64_t num_parameters);

  int64_t dim() const { return dim_; }

  // out: [rows, dim], overwritten with a R. a: [rows, P].
  void Apply(int64_t rows, const T* a, T* out) const;

 private:
  const int64_t dim_, num_parameters_;
  PackedRows<T> dense_;            // R^T, or empty
  std::vector<int64_t> position_;  // [P] of the one number in a row of R
  std::vector<T> sign_;            // [P]
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_GRADIENT_PROJECTION_H_
