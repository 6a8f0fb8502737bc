// Rows of numbers made short by a random matrix: factors of gradients, of which products are wanted on average alone.

#ifndef RUTILE_LIB_KGE_INFLUENCE_ROW_PROJECTION_H_
#define RUTILE_LIB_KGE_INFLUENCE_ROW_PROJECTION_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/base/parallel_for.h"
#include "lib/task/projection_options.h"

namespace rutile {

// R [n, dim] of the options, which follows from them and `purpose` alone. A sparse R has its +-1 of the n-th row in a
// column that no other row of the same dim rows in succession has, so that rows are added up without a table: two rows
// share a column with probability 1 / dim at most, as in a count sketch. Thread-safe.
template <typename T>
class RowProjection {
 public:
  // CHECK-fails on kNone.
  RowProjection(const ProjectionOptions& options, int64_t n, absl::string_view purpose);

  // Numbers of a result: dim, and zeros for whole vectors.
  int64_t width() const { return width_; }

  // out [rows, width] = a R, for rows of n numbers. A row has the same bits whatever rows are beside it. pool: may be
  // null.
  void Apply(const T* a, int64_t rows, ThreadPool* pool, T* out) const;

 private:
  void AddUp(const T* row, T* out) const;

  const int64_t n_, dim_;
  int64_t width_;
  std::vector<T> dense_;        // R packed for MultiplySparse, or empty
  std::vector<T> sign_;         // [n]
  std::vector<int64_t> shift_;  // of each dim rows: the column of the first
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_INFLUENCE_ROW_PROJECTION_H_
