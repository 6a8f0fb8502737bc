#include "lib/optimizer/step_adjoint.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace rutile {
namespace {

void Take(const UnrolledAdam& step, absl::Span<const double> gradient, OptimizerState* state) {
  for (size_t i = 0; i < gradient.size(); ++i) {
    double &p = state->parameters[i], &m = state->m[i], &v = state->v[i];
    p *= step.keep;
    const double g = gradient[i] + step.l2 * p;
    m = step.beta1 * m + (1 - step.beta1) * g;
    v = step.beta2 * v + (1 - step.beta2) * g * g;
    if (step.amsgrad) state->h[i] = std::max(state->h[i], v);
    p -= step.step_size * m / (std::sqrt(step.amsgrad ? state->h[i] : v) / step.root_correction2 + step.epsilon);
  }
}

void Take(const SgdStep& step, absl::Span<const double> gradient, OptimizerState* state) {
  for (size_t i = 0; i < gradient.size(); ++i) {
    double &p = state->parameters[i], &b = state->m[i];
    const double g = gradient[i] + step.l2 * p;
    if (step.momentum == 0) {
      p -= step.learning_rate * g;
      continue;
    }
    b = step.momentum * b + step.gain * g;
    p -= step.learning_rate * (step.nesterov ? g + step.momentum * b : b);
  }
}

std::vector<double> Back(const UnrolledAdam& step, const OptimizerState& before, const OptimizerState& after,
                         absl::Span<const double> gradient, OptimizerState* adjoint) {
  std::vector<double> by_gradient(gradient.size());
  for (size_t i = 0; i < gradient.size(); ++i) {
    const double by_p = adjoint->parameters[i];
    const double g = gradient[i] + step.l2 * step.keep * before.parameters[i];
    const double root = std::sqrt(step.amsgrad ? after.h[i] : after.v[i]);
    const double divisor = root / step.root_correction2 + step.epsilon;
    const double by_m = adjoint->m[i] - step.step_size * by_p / divisor;
    // By what the root is of.
    double by_square = step.amsgrad ? adjoint->h[i] : adjoint->v[i];
    if (root > 0) {
      by_square += step.step_size * by_p * after.m[i] / (2 * divisor * divisor * step.root_correction2 * root);
    }
    const bool is_v = !step.amsgrad || after.v[i] > before.h[i];
    const double by_v = (step.amsgrad ? adjoint->v[i] : 0) + (is_v ? by_square : 0);
    if (step.amsgrad) adjoint->h[i] = is_v ? 0 : by_square;
    const double by_g = (1 - step.beta1) * by_m + 2 * (1 - step.beta2) * g * by_v;
    adjoint->parameters[i] = step.keep * (by_p + step.l2 * by_g);
    adjoint->m[i] = step.beta1 * by_m;
    adjoint->v[i] = step.beta2 * by_v;
    by_gradient[i] = by_g;
  }
  return by_gradient;
}

std::vector<double> Back(const SgdStep& step, absl::Span<const double> gradient, OptimizerState* adjoint) {
  std::vector<double> by_gradient(gradient.size());
  for (size_t i = 0; i < gradient.size(); ++i) {
    const double by_move = -step.learning_rate * adjoint->parameters[i];
    double by_g = by_move;
    if (step.momentum != 0) {
      const double by_b = adjoint->m[i] + (step.nesterov ? step.momentum * by_move : by_move);
      by_g = step.gain * by_b + (step.nesterov ? by_move : 0);
      adjoint->m[i] = step.momentum * by_b;
    }
    adjoint->parameters[i] += step.l2 * by_g;
    by_gradient[i] = by_g;
  }
  return by_gradient;
}

double Length(absl::Span<const double> a) { return std::sqrt(std::inner_product(a.begin(), a.end(), a.begin(), 0.0)); }

}  // namespace

OptimizerState ZeroState(const UnrolledUpdate& update, size_t num_parameters) {
  const std::vector<double> zeros(num_parameters, 0.0);
  const auto* const adam = std::get_if<UnrolledAdam>(&update);
  const std::vector<double> none;
  return {zeros, zeros, adam != nullptr ? zeros : none, adam != nullptr && adam->amsgrad ? zeros : none, none};
}

void TakeStep(const UnrolledUpdate& update, absl::Span<const double> gradient, OptimizerState* state) {
  std::visit([&](const auto& step) { Take(step, gradient, state); }, update);
}

std::vector<double> StepBack(const UnrolledUpdate& update, const OptimizerState& before, const OptimizerState& after,
                             absl::Span<const double> gradient, OptimizerState* adjoint) {
  if (const auto* adam = std::get_if<UnrolledAdam>(&update)) return Back(*adam, before, after, gradient, adjoint);
  return Back(std::get<SgdStep>(update), gradient, adjoint);
}

std::vector<double> Clipped(const GradientClipping& clipping, absl::Span<const double> gradient) {
  std::vector<double> clipped(gradient.begin(), gradient.end());
  const double length = clipping.norm > 0 ? Length(gradient) : 0;
  for (double& each : clipped) {
    if (length > clipping.norm) each *= clipping.norm / length;
    if (clipping.value > 0) each = std::clamp(each, -clipping.value, clipping.value);
  }
  return clipped;
}

void ClipBack(const GradientClipping& clipping, absl::Span<const double> gradient, std::vector<double>* by_gradient) {
  if (clipping.value > 0) {
    const std::vector<double> seen = Clipped({clipping.norm, 0}, gradient);
    for (size_t i = 0; i < seen.size(); ++i) {
      if (std::abs(seen[i]) >= clipping.value) (*by_gradient)[i] = 0;
    }
  }
  const double length = clipping.norm > 0 ? Length(gradient) : 0;
  if (!(length > clipping.norm)) return;
  const double along =
      std::inner_product(gradient.begin(), gradient.end(), by_gradient->begin(), 0.0) / (length * length);
  for (size_t i = 0; i < gradient.size(); ++i) {
    (*by_gradient)[i] = clipping.norm / length * ((*by_gradient)[i] - along * gradient[i]);
  }
}

void MoveAverage(double share, OptimizerState* state) {
  if (share == 1) state->average = state->parameters;
  for (size_t i = 0; i < state->average.size(); ++i) {
    state->average[i] += share * (state->parameters[i] - state->average[i]);
  }
}

void AverageBack(double share, OptimizerState* adjoint) {
  for (size_t i = 0; i < adjoint->average.size(); ++i) {
    adjoint->parameters[i] += share * adjoint->average[i];
    adjoint->average[i] *= 1 - share;
  }
}

}  // namespace rutile
