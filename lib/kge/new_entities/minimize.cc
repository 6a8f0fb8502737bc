#include "lib/kge/new_entities/minimize.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <utility>

namespace rutile {
namespace {

constexpr size_t kHistory = 20;
// A step must lower the value by this share of what the slope promises (Armijo), or, where rounding hides differences
// of values, lower the slope instead (Hager & Zhang, SIAM J. Optim. 16, 170, 2005, section 3).
constexpr double kDecrease = 1e-4, kRounding = 1e-12, kCurvature = 0.9;
constexpr int64_t kSteps = 20;  // after which it is asked whether the value still falls
constexpr int kMostTries = 40;  // of the length of a step

double Dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Returns the largest magnitude; NaN if there is one.
double Largest(const std::vector<double>& a) {
  double most = 0;
  for (const double x : a) {
    if (std::isnan(x)) return x;
    most = std::max(most, std::abs(x));
  }
  return most;
}

struct Pair {
  std::vector<double> step, change;  // of x and of the gradient
  double curvature;                  // their product, above 0
};

// Returns -H g, where H approximates the inverse Hessian by the last steps (the two-loop recursion).
std::vector<double> Direction(const std::deque<Pair>& pairs, const std::vector<double>& gradient) {
  std::vector<double> q = gradient, factors(pairs.size());
  const auto add = [&q](double factor, const std::vector<double>& x) {
    for (size_t i = 0; i < q.size(); ++i) q[i] += factor * x[i];
  };
  for (size_t k = pairs.size(); k-- > 0;) {
    factors[k] = Dot(pairs[k].step, q) / pairs[k].curvature;
    add(-factors[k], pairs[k].change);
  }
  if (!pairs.empty()) {
    const Pair& last = pairs.back();
    const double scale = last.curvature / Dot(last.change, last.change);
    for (double& x : q) x *= scale;
  }
  for (size_t k = 0; k < pairs.size(); ++k) {
    add(factors[k] - Dot(pairs[k].change, q) / pairs[k].curvature, pairs[k].step);
  }
  for (double& x : q) x = -x;
  return q;
}

}  // namespace

Minimum Minimize(const ValueAndGradient& function, std::vector<double> start, double tolerance,
                 int64_t most_evaluations, double flat) {
  const size_t size = start.size();
  Minimum at;
  at.x = std::move(start);
  std::vector<double> gradient(size), next(size), next_gradient(size);
  at.value = function(at.x, absl::MakeSpan(gradient));
  at.evaluations = 1;
  std::deque<Pair> pairs;
  double before = at.value;  // kSteps steps ago
  int64_t steps = 0;
  while (Largest(gradient) > tolerance && at.evaluations < most_evaluations) {
    std::vector<double> direction = Direction(pairs, gradient);
    double slope = Dot(direction, gradient);
    // The first step has no scale, so it is at most 1 long.
    double length = pairs.empty() ? std::min(1.0, 1 / std::sqrt(Dot(gradient, gradient))) : 1.0;
    double low = 0, high = std::numeric_limits<double>::infinity(), value = 0;
    bool found = false;
    for (int tries = 0; tries < kMostTries && at.evaluations < most_evaluations && !found; ++tries) {
      for (size_t i = 0; i < size; ++i) next[i] = at.x[i] + length * direction[i];
      value = function(next, absl::MakeSpan(next_gradient));
      ++at.evaluations;
      const double next_slope = Dot(direction, next_gradient);
      const bool lower = value <= at.value + kDecrease * length * slope;
      const bool equal =
          value <= at.value + kRounding * std::abs(at.value) && next_slope <= (2 * kDecrease - 1) * slope;
      if (!(lower || equal)) {  // also for NaN
        high = length;
        length = (low + high) / 2;
      } else if (next_slope < kCurvature * slope) {
        low = length;
        length = std::isinf(high) ? 2 * length : (low + high) / 2;
      } else {
        found = true;
      }
    }
    // At a kink the slope jumps and no length meets the condition on it; one that lowers the value still counts.
    if (!found && low > 0) {
      for (size_t i = 0; i < size; ++i) next[i] = at.x[i] + low * direction[i];
      value = function(next, absl::MakeSpan(next_gradient));
      ++at.evaluations;
      found = value < at.value;
    }
    if (!found) {
      if (pairs.empty()) break;
      pairs.clear();  // starts anew along the gradient
      continue;
    }
    Pair pair = {std::vector<double>(size), std::vector<double>(size), 0};
    for (size_t i = 0; i < size; ++i) {
      pair.step[i] = next[i] - at.x[i];
      pair.change[i] = next_gradient[i] - gradient[i];
    }
    pair.curvature = Dot(pair.step, pair.change);
    if (pair.curvature > 0) {
      pairs.push_back(std::move(pair));
      if (pairs.size() > kHistory) pairs.pop_front();
    }
    at.x = next;
    at.value = value;
    gradient = next_gradient;
    if (++steps % kSteps != 0) continue;
    if (before - at.value < flat * std::abs(at.value)) break;
    before = at.value;
  }
  at.gradient_norm = Largest(gradient);
  return at;
}

}  // namespace rutile
