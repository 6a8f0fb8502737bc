// Shortens gradients by a random matrix R [P, dim]. On average, products of shortened gradients are those of the
// gradients: E[R R^T] = 1 (W. Johnson, J. Lindenstrauss, Contemp. Math. 26, 189 (1984)).
//
// R depends on the options alone, so that it is the same for all examples, checkpoints, tiles and threads.

#ifndef RUTILE_LIB_POTENTIAL_INFLUENCE_GRADIENT_PROJECTION_H_
#define RUTILE_LIB_POTENTIAL_INFLUENCE_GRADIENT_PROJECTION_H_

#include <cstdint>
#include <vector>

#include "lib/network/kernels/row_products.h"
#include "lib/task/projection_options.h"

namespace rutile {

// The matrix R for gradients of P numbers. T is float or double. Thread-safe. Takes the memory of P dim numbers, or of
// 2 P if R is sparse.
template <typename T>
class GradientProjection {
 public:
  // CHECK-fails on kNone.
  GradientProjection(const ProjectionOptions& options, int64_t num_parameters);

  int64_t dim() const { return dim_; }

  // Sets out = a R. out: [rows, dim], overwritten. a: [rows, P].
  void Apply(int64_t rows, const T* a, T* out) const;

 private:
  const int64_t dim_, num_parameters_;
  PackedRows<T> dense_;            // R^T, or empty
  std::vector<int64_t> position_;  // [P] column of the only element in each row of R
  std::vector<T> sign_;            // [P] that element
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_INFLUENCE_GRADIENT_PROJECTION_H_
