// Projects rows of numbers by a random matrix, for factors of gradients whose products are needed only on average.

#ifndef RUTILE_LIB_KGE_INFLUENCE_ROW_PROJECTION_H_
#define RUTILE_LIB_KGE_INFLUENCE_ROW_PROJECTION_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/machine/parallel_for.h"
#include "lib/task/projection_options.h"

namespace rutile {

// A random matrix R [n, dim], a function of the options and `purpose` alone. In a sparse R, dim consecutive rows have
// their +-1 in dim different columns, so that rows are added without a table: two rows share a column with probability
// 1 / dim at most, as in a count sketch. Thread-safe.
template <typename T>
class RowProjection {
 public:
  // CHECK-fails on kNone.
  RowProjection(const ProjectionOptions& options, int64_t n, absl::string_view purpose);

  // The length of a result: dim numbers, and zeros up to whole vectors.
  int64_t width() const { return width_; }

  // Computes out [rows, width] = a R, for rows of n numbers. A row has the same bits whatever rows are computed with
  // it. pool may be null.
  void Apply(const T* a, int64_t rows, ThreadPool* pool, T* out) const;

 private:
  void AddUp(const T* row, T* out) const;

  const int64_t n_, dim_;
  int64_t width_;
  std::vector<T> dense_;        // R packed for MultiplySparse, or empty
  std::vector<T> sign_;         // [n]
  std::vector<int64_t> shift_;  // for each dim rows, the column of the first
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_INFLUENCE_ROW_PROJECTION_H_
