#include "lib/optimizer/step_adjoint.h"

#include <cmath>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "lib/optimizer/optimizer_kernel.h"

namespace rutile {
namespace {

using Doubles = std::vector<double>;

UnrolledAdam MakeAdam(double keep, double l2, bool amsgrad = false) {
  UnrolledAdam step;
  step.amsgrad = amsgrad;
  step.keep = keep;
  step.l2 = l2;
  step.beta1 = 0.9;
  step.beta2 = 0.99;
  step.epsilon = 1e-3;
  step.step_size = 0.02;
  step.root_correction2 = 0.3;
  return step;
}

SgdStep MakeSgd(double momentum, bool nesterov, double gain) {
  SgdStep step;
  step.l2 = 0.1;
  step.momentum = momentum;
  step.gain = gain;
  step.nesterov = nesterov;
  step.learning_rate = 0.05;
  return step;
}

std::vector<UnrolledUpdate> Updates() {
  return {MakeAdam(1, 0),       MakeAdam(1, 0.1),         MakeAdam(0.98, 0),    MakeAdam(0.98, 0.1, true),
          MakeSgd(0, false, 1), MakeSgd(0.9, false, 0.8), MakeSgd(0.9, true, 1)};
}

OptimizerState StateFor(const UnrolledUpdate& update) {
  OptimizerState state = ZeroState(update, 3);
  state.parameters = {0.3, -1, 2};
  state.m = {0.1, -0.2, 0.05};
  if (!state.v.empty()) state.v = {0.04, 0.01, 0.09};
  if (!state.h.empty()) state.h = {0.06, 0.01, 0.09};  // the second is less than v after the step
  return state;
}

const Doubles kGradient = {0.2, 0.7, -0.4};
// Weights of the quantity that is differentiated: a linear function of the state after the step.
const Doubles kByParameters = {1, -2, 0.5}, kByM = {0.3, 0.7, -1}, kByV = {2, -1, 0.4}, kByH = {-3, 0.8, 1.5};

double Quantity(const UnrolledUpdate& update, const Doubles& gradient, OptimizerState state) {
  TakeStep(update, gradient, &state);
  double sum = 0;
  for (int i = 0; i < 3; ++i) {
    sum += kByParameters[i] * state.parameters[i] + kByM[i] * state.m[i];
    if (!state.v.empty()) sum += kByV[i] * state.v[i];
    if (!state.h.empty()) sum += kByH[i] * state.h[i];
  }
  return sum;
}

TEST(StepAdjointTest, TakesTheStepsOfTheOptimizers) {
  for (const UnrolledUpdate& update : Updates()) {
    OptimizerState state = StateFor(update);
    OptimizerState expected = state;
    TakeStep(update, kGradient, &state);
    if (const auto* adam = std::get_if<UnrolledAdam>(&update)) {
      AdamUpdate(*adam, kGradient, absl::MakeSpan(expected.m), absl::MakeSpan(expected.v),
                 absl::MakeSpan(expected.parameters), absl::MakeSpan(expected.h));
    } else {
      const auto& sgd = std::get<SgdStep>(update);
      SgdUpdate(sgd, kGradient, sgd.momentum == 0 ? absl::Span<double>() : absl::MakeSpan(expected.m),
                absl::MakeSpan(expected.parameters));
    }
    for (int i = 0; i < 3; ++i) {  // 1e-15: the kernels may add in another order
      EXPECT_NEAR(state.parameters[i], expected.parameters[i], 1e-15) << update.index();
      EXPECT_NEAR(state.m[i], expected.m[i], 1e-15) << update.index();
      if (!state.v.empty()) {
        EXPECT_NEAR(state.v[i], expected.v[i], 1e-15) << update.index();
      }
      if (!state.h.empty()) {
        EXPECT_NEAR(state.h[i], expected.h[i], 1e-15);
      }
    }
  }
}

TEST(StepAdjointTest, EqualsFiniteDifferences) {
  constexpr double kStep = 1e-6, kTolerance = 1e-8;  // truncation: kStep^2 times third derivatives of up to 1e3
  for (const UnrolledUpdate& update : Updates()) {
    const OptimizerState before = StateFor(update);
    OptimizerState after = before;
    TakeStep(update, kGradient, &after);
    OptimizerState adjoint = {
        kByParameters, kByM, after.v.empty() ? Doubles() : kByV, after.h.empty() ? Doubles() : kByH, {}};
    const Doubles by_gradient = StepBack(update, before, after, kGradient, &adjoint);
    const auto slope = [&](Doubles OptimizerState::*member, int i) {
      OptimizerState high = before, low = before;
      (high.*member)[i] += kStep;
      (low.*member)[i] -= kStep;
      return (Quantity(update, kGradient, high) - Quantity(update, kGradient, low)) / (2 * kStep);
    };
    for (int i = 0; i < 3; ++i) {
      EXPECT_NEAR(adjoint.parameters[i], slope(&OptimizerState::parameters, i), kTolerance) << update.index();
      EXPECT_NEAR(adjoint.m[i], slope(&OptimizerState::m, i), kTolerance) << update.index();
      if (!before.v.empty()) {
        EXPECT_NEAR(adjoint.v[i], slope(&OptimizerState::v, i), kTolerance);
      }
      if (!before.h.empty()) {
        EXPECT_NEAR(adjoint.h[i], slope(&OptimizerState::h, i), kTolerance);
      }
      Doubles high = kGradient, low = kGradient;
      high[i] += kStep;
      low[i] -= kStep;
      EXPECT_NEAR(by_gradient[i], (Quantity(update, high, before) - Quantity(update, low, before)) / (2 * kStep),
                  kTolerance);
    }
  }
}

TEST(StepAdjointTest, AParameterThatNeverHadAGradientHasFiniteDerivatives) {
  const UnrolledUpdate update = MakeAdam(1, 0);
  const OptimizerState before = ZeroState(update, 1);
  OptimizerState after = before, adjoint = {{1}, {0}, {0}, {}, {}};
  TakeStep(update, {0.0}, &after);
  const Doubles by_gradient = StepBack(update, before, after, {0.0}, &adjoint);
  EXPECT_DOUBLE_EQ(by_gradient[0], -(1 - 0.9) * 0.02 / 1e-3);  // m alone: the root's derivative is left out
  EXPECT_EQ(adjoint.parameters[0], 1);
}

TEST(StepAdjointTest, ClipsByNormAndByValue) {
  const Doubles gradient = {3, -4, 0};
  EXPECT_EQ(Clipped({}, gradient), gradient);
  EXPECT_EQ(Clipped({5, 0}, gradient), gradient);
  EXPECT_EQ(Clipped({2.5, 0}, gradient), (Doubles{1.5, -2, 0}));
  EXPECT_EQ(Clipped({0, 3.5}, gradient), (Doubles{3, -3.5, 0}));
  EXPECT_EQ(Clipped({0, 1}, gradient), (Doubles{1, -1, 0}));
  EXPECT_EQ(Clipped({2.5, 0}, {0, 0}), (Doubles{0, 0}));
}

TEST(StepAdjointTest, ClippingEqualsFiniteDifferences) {
  constexpr double kStep = 1e-6, kTolerance = 1e-9;  // kStep^2 times third derivatives of about 1, and rounding
  // Norm 0.83: above, below and far above the limits; then one, two and no components cut, and both together.
  for (const GradientClipping& clipping :
       {GradientClipping{}, GradientClipping{1, 0}, GradientClipping{0.5, 0}, GradientClipping{1e-3, 0},
        GradientClipping{0, 0.5}, GradientClipping{0, 0.3}, GradientClipping{0, 1}, GradientClipping{0.5, 0.3}}) {
    Doubles by_gradient = kByParameters;
    ClipBack(clipping, kGradient, &by_gradient);
    for (int i = 0; i < 3; ++i) {
      double slope = 0;
      for (const double side : {kStep, -kStep}) {
        Doubles moved = kGradient;
        moved[i] += side;
        const Doubles clipped = Clipped(clipping, moved);
        for (int k = 0; k < 3; ++k) slope += kByParameters[k] * clipped[k] / (2 * side);
      }
      EXPECT_NEAR(by_gradient[i], slope, kTolerance) << clipping.norm << " " << clipping.value;
    }
  }
}

// The average after three steps is a weighted sum of the parameters, and so are the derivatives by it.
TEST(StepAdjointTest, AveragesAndTheirDerivativesAreWeightedSums) {
  const Doubles shares = {1, 0.25, 0, 0.5}, parameters = {3, 5, 100, -1};
  const Doubles weights = {0.75 * 0.5, 0.25 * 0.5, 0, 0.5};  // of the parameters after each step
  OptimizerState state = ZeroState(MakeSgd(0, false, 1), 1), adjoint = state;
  double expected = 0;
  for (int t = 0; t < 4; ++t) {
    state.parameters = {parameters[t]};
    MoveAverage(shares[t], &state);
    expected += weights[t] * parameters[t];
  }
  EXPECT_EQ(state.average, (Doubles{expected}));
  adjoint.average = {2};
  for (int t = 3; t >= 0; --t) {
    adjoint.parameters = {0};
    AverageBack(shares[t], &adjoint);
    EXPECT_EQ(adjoint.parameters, (Doubles{2 * weights[t]})) << t;
  }
  EXPECT_EQ(adjoint.average, (Doubles{0}));  // the first was a copy
}

}  // namespace
}  // namespace rutile
