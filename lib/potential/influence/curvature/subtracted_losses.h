// What a damped curvature A loses, where half of its inverse is known as M with M^T M = A^-1.

#ifndef RUTILE_LIB_POTENTIAL_INFLUENCE_CURVATURE_SUBTRACTED_LOSSES_H_
#define RUTILE_LIB_POTENTIAL_INFLUENCE_CURVATURE_SUBTRACTED_LOSSES_H_

#include <cstdint>
#include <vector>

namespace rutile {

// With the losses U diag(1/l) U^T, by Woodbury's identity, the inverse is M^T (1 + Q Q^T) M for Q = M U F^-T, F F^T =
// diag(l) - (M U)^T (M U), and (A. Andrews, AIAA Journal 6, 1165 (1968)) 1 + Q Q^T = (1 + Q B Q^T) (1 + Q B^T Q^T) for
// B = (K + 1)^-1, K K^T = 1 + Q^T Q.
class SubtractedLosses {
 public:
  // halves: (M U)^T [n, C]; divisor: l [n]. Returns false, with no losses, if A would not be positive definite.
  bool Make(std::vector<double> halves, const std::vector<double>& divisor);

  bool empty() const { return b_.empty(); }
  // Q^T [n, C], or empty.
  const std::vector<double>& vectors() const { return q_; }
  // Overwrites vectors y [count, C] with (1 + Q B^T Q^T) y, or with the transpose of it: (1 + Q B Q^T) y.
  void Apply(int64_t count, double* vectors, bool transposed) const;

 private:
  std::vector<double> q_, b_;  // Q^T [n, C] and K + 1 [n, n], or empty
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_INFLUENCE_CURVATURE_SUBTRACTED_LOSSES_H_
