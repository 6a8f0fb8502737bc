// Minimizes smooth functions of some hundred numbers in fp64, without LibTorch: L-BFGS (Nocedal & Wright, Numerical
// Optimization, algorithm 7.5).

#ifndef RUTILE_LIB_KGE_NEW_ENTITIES_MINIMIZE_H_
#define RUTILE_LIB_KGE_NEW_ENTITIES_MINIMIZE_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"

namespace rutile {

// Returns a function's value at x [n] and overwrites its gradient [n].
using ValueAndGradient = std::function<double(absl::Span<const double> x, absl::Span<double> gradient)>;

// Where a minimization ended.
struct Minimum {
  std::vector<double> x;
  double value = 0;
  double gradient_norm = 0;  // largest absolute element of the gradient
  int64_t evaluations = 0;
};

// Minimizes from `start`, until no element of the gradient is larger than `tolerance`, no step along a descent
// direction lowers the value, twenty steps have lowered it by less than `flat` times its size, or `most_evaluations`
// have been made. flat: 0 for smooth functions; among kinks the gradient need not become small.
Minimum Minimize(const ValueAndGradient& function, std::vector<double> start, double tolerance,
                 int64_t most_evaluations, double flat = 0);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_NEW_ENTITIES_MINIMIZE_H_
