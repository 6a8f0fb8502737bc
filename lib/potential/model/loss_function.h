// Computes the loss from errors, and its derivatives by them.

#ifndef RUTILE_LIB_POTENTIAL_MODEL_LOSS_FUNCTION_H_
#define RUTILE_LIB_POTENTIAL_MODEL_LOSS_FUNCTION_H_

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/types/span.h"
#include "lib/potential/model/task_options.h"
#include "lib/task/loss_terms.h"

namespace rutile {

// The loss of one error and its derivatives: the square, or Huber's function.
class ErrorLoss {
 public:
  ErrorLoss(LossKind kind, double delta) : huber_(kind == LossKind::kHuber), delta_(delta) {}
  double Value(double e) const {
    if (!huber_) return e * e;
    return std::abs(e) <= delta_ ? 0.5 * e * e : delta_ * (std::abs(e) - 0.5 * delta_);
  }
  double Slope(double e) const { return huber_ ? std::clamp(e, -delta_, delta_) : 2 * e; }
  // The second derivative.
  double Curvature(double e) const { return huber_ ? (std::abs(e) <= delta_ ? 1 : 0) : 2; }

 private:
  bool huber_;
  double delta_;
};

// Returns the loss of LossOptions from the sums of its terms. weights: one for each term, in the order of the sums.
Loss CombineLossTerms(LossKind kind, absl::Span<const double> weights, const TermSums& sums);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_MODEL_LOSS_FUNCTION_H_
