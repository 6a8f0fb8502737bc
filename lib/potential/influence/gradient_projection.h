// Gradients made short: products with a random matrix R [P, dim], whose products with each other are those of the
// gradients on average, E[R R^T] = 1 (W. Johnson, J. Lindenstrauss, Contemp. Math. 26, 189 (1984)).
//
// R follows from the options alone: the same for all examples, checkpoints, tiles and threads.

#ifndef RUTILE_LIB_POTENTIAL_INFLUENCE_GRADIENT_PROJECTION_H_
#define RUTILE_LIB_POTENTIAL_INFLUENCE_GRADIENT_PROJECTION_H_

#include <cstdint>
#include <vector>

#include "lib/network/row_products.h"
#include "lib/task/projection_options.h"

namespace rutile {

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

#endif  // RUTILE_LIB_POTENTIAL_INFLUENCE_GRADIENT_PROJECTION_H_
