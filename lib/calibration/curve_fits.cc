#include "lib/calibration/curve_fits.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace rutile {
namespace {

// log(1 + exp(x)) without overflow.
double SoftPlus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

// The negative log-likelihood of a line a x + b.
double Loss(absl::Span<const double> x, absl::Span<const double> targets, absl::Span<const double> weights, double a,
            double b) {
  double loss = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double line = a * x[i] + b;
    loss += weights[i] * (SoftPlus(line) - targets[i] * line);
  }
  return loss;
}

}  // namespace

double Logistic(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }

void FitLogistic(absl::Span<const double> scores, absl::Span<const double> targets, absl::Span<const double> weights,
                 double* slope, double* offset) {
  double total = 0, mean = 0, target = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    total += weights[i];
    mean += weights[i] * scores[i];
    target += weights[i] * targets[i];
  }
  mean /= total;
  target /= total;
  double variance = 0;
  for (size_t i = 0; i < scores.size(); ++i) variance += weights[i] / total * (scores[i] - mean) * (scores[i] - mean);
  // Scores of unit variance make the problem well conditioned, whatever the model's scale is.
  const double scale = variance > 0 ? 1 / std::sqrt(variance) : 0;
  std::vector<double> x(scores.size());
  for (size_t i = 0; i < scores.size(); ++i) x[i] = (scores[i] - mean) * scale;
  double a = 0, b = std::log(target / (1 - target));
  double loss = Loss(x, targets, weights, a, b);
  constexpr int kMostSteps = 100;
  for (int step = 0; step < kMostSteps && scale > 0; ++step) {
    double ga = 0, gb = 0, haa = 0, hab = 0, hbb = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double p = Logistic(a * x[i] + b);
      const double g = weights[i] * (p - targets[i]), h = weights[i] * p * (1 - p);
      ga += g * x[i];
      gb += g;
      haa += h * x[i] * x[i];
      hab += h * x[i];
      hbb += h;
    }
    if (std::abs(ga) + std::abs(gb) < 1e-13 * total) break;
    haa += 1e-14 * total;
    hbb += 1e-14 * total;
    const double determinant = haa * hbb - hab * hab;
    const double da = (hbb * ga - hab * gb) / determinant, db = (haa * gb - hab * ga) / determinant;
    // The step lowers the loss by half of g . d. Where that is less than rounding shows, comparing losses says nothing,
    // and the step, whose error is the square of the one before it, is the last.
    if (ga * da + gb * db < 1e-15 * total) {
      a -= da;
      b -= db;
      break;
    }
    double length = 1, next = loss;
    for (; length > 1e-10; length /= 2) {
      next = Loss(x, targets, weights, a - length * da, b - length * db);
      if (next <= loss) break;
    }
    if (!(next <= loss)) break;
    a -= length * da;
    b -= length * db;
    loss = next;
  }
  // A higher score is never less probable: the order of answers is the model's.
  if (a < 0) {
    a = 0;
    b = std::log(target / (1 - target));
  }
  *slope = a * scale;
  *offset = b - a * scale * mean;
}

Steps FitIsotonic(absl::Span<const double> scores, absl::Span<const double> targets, absl::Span<const double> weights) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] < scores[b]; });
  Steps steps;
  std::vector<double> weight;  // of each step
  // Joins the last two steps.
  const auto join = [&] {
    const size_t n = weight.size();
    const double sum = weight[n - 2] + weight[n - 1];
    steps.value[n - 2] = (weight[n - 2] * steps.value[n - 2] + weight[n - 1] * steps.value[n - 1]) / sum;
    steps.last[n - 2] = steps.last[n - 1];
    weight[n - 2] = sum;
    steps.first.pop_back();
    steps.last.pop_back();
    steps.value.pop_back();
    weight.pop_back();
  };
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    // Equal scores are one step from the start, before it is compared with those below.
    double sum = 0, of_targets = 0;
    for (; end < order.size() && scores[order[end]] == scores[order[begin]]; ++end) {
      sum += weights[order[end]];
      of_targets += weights[order[end]] * targets[order[end]];
    }
    steps.first.push_back(scores[order[begin]]);
    steps.last.push_back(scores[order[begin]]);
    steps.value.push_back(of_targets / sum);
    weight.push_back(sum);
    while (weight.size() > 1 && steps.value[weight.size() - 2] >= steps.value[weight.size() - 1]) join();
  }
  return steps;
}

}  // namespace rutile
