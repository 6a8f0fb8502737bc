#include "lib/optimizer/methods/lbfgs.h"

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

// Rosenbrock's function: minimum 0 at (1, 1).
absl::StatusOr<double> Rosenbrock(const Tensor& parameters, Tensor* gradient) {
  const double x = parameters.values<double>()[0], y = parameters.values<double>()[1];
  gradient->mutable_values<double>()[0] = -400 * x * (y - x * x) - 2 * (1 - x);
  gradient->mutable_values<double>()[1] = 200 * (y - x * x);
  return 100 * (y - x * x) * (y - x * x) + (1 - x) * (1 - x);
}

OptimizerOptions Options() {
  OptimizerOptions options = DefaultOptimizerOptions("lbfgs").value();
  options.tolerance_change = 1e-14;
  return options;
}

TEST(LbfgsTest, FindsTheMinimumOneIterationAtATime) {
  Tensor parameters = Tensor::Of<double>({-1.2, 1});
  int evaluations = 0;
  Lbfgs lbfgs(Options(), parameters, [&](const Tensor& at, Tensor* gradient) {
    ++evaluations;
    return Rosenbrock(at, gradient);
  });
  double last = 1e9;
  int iterations = 0;
  for (; iterations < 100; ++iterations) {
    const absl::StatusOr<Lbfgs::Result> result = lbfgs.Step(1);
    ASSERT_TRUE(result.ok()) << result.status();
    if (result->converged) break;
    EXPECT_LT(result->loss, last);
    last = result->loss;
  }
  EXPECT_LT(iterations, 60);
  EXPECT_LT(evaluations, 2 * iterations);  // values are cached between iterations
  EXPECT_NEAR(parameters.values<double>()[0], 1, 1e-6);
  EXPECT_NEAR(parameters.values<double>()[1], 1, 1e-6);
}

TEST(LbfgsTest, StateSurvivesBitForBit) {
  for (const int steps : {0, 1, 2, 7}) {
    Tensor first_parameters = Tensor::Of<double>({-1.2, 1});
    Lbfgs first(Options(), first_parameters, Rosenbrock);
    for (int i = 0; i < steps; ++i) ASSERT_TRUE(first.Step(1).ok());
    Tensor second_parameters = Tensor::Of<double>(first_parameters.ToDoubles());
    Lbfgs second(Options(), second_parameters, Rosenbrock);
    ASSERT_EQ(second.SetState(first.State()), absl::OkStatus());
    for (int i = 0; i < 7; ++i) {
      ASSERT_TRUE(first.Step(1).ok());
      ASSERT_TRUE(second.Step(1).ok());
      EXPECT_EQ(first_parameters.ToDoubles(), second_parameters.ToDoubles()) << i;
    }
  }
}

// LibTorch's state then has no direction.
TEST(LbfgsTest, StateWhereTheFirstGradientIsBelowTheTolerance) {
  Tensor parameters = Tensor::Of<double>({1, 1});
  Lbfgs first(Options(), parameters, Rosenbrock), second(Options(), parameters, Rosenbrock);
  EXPECT_TRUE(first.Step(1)->converged);
  EXPECT_TRUE(first.State().empty());
  ASSERT_EQ(second.SetState(first.State()), absl::OkStatus());
  EXPECT_TRUE(second.Step(1)->converged);
}

TEST(LbfgsTest, StateOfAnotherShapeIsRefused) {
  Tensor parameters = Tensor::Of<double>({-1.2, 1});
  Lbfgs lbfgs(Options(), parameters, Rosenbrock);
  EXPECT_TRUE(lbfgs.SetState(lbfgs.State()).ok());  // before the first step
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(lbfgs.Step(1).ok());
  const NamedTensors whole = lbfgs.State();
  for (const char* name :
       {"iterations", "numbers", "direction", "gradient", "hessian_scale", "gradient_differences", "steps"}) {
    NamedTensors state = whole;
    ASSERT_TRUE(state.Has(name));
    state.Set(name, Tensor::Zeros(DType::kF64, {7}));
    EXPECT_THAT(std::string(lbfgs.SetState(state).message()), HasSubstr(name));
  }
  EXPECT_TRUE(lbfgs.Step(1).ok());
}

TEST(LbfgsTest, ErrorsOfTheFunctionComeBack) {
  Tensor parameters = Tensor::Of<double>({-1.2, 1});
  int evaluations = 0;
  Lbfgs lbfgs(Options(), parameters, [&](const Tensor& at, Tensor* gradient) -> absl::StatusOr<double> {
    if (++evaluations == 3) return absl::DataLossError("no more data");
    return Rosenbrock(at, gradient);
  });
  absl::Status status;
  for (int i = 0; i < 5 && status.ok(); ++i) status = lbfgs.Step(1).status();
  EXPECT_EQ(status, absl::DataLossError("no more data"));
}

TEST(LbfgsTest, SinglePrecision) {
  Tensor parameters = Tensor::Of<float>({3, -4});
  Lbfgs lbfgs(Options(), parameters, [](const Tensor& at, Tensor* gradient) -> absl::StatusOr<double> {
    double loss = 0;
    for (int i = 0; i < 2; ++i) {
      const float x = at.values<float>()[i];
      gradient->mutable_values<float>()[i] = 2 * (i + 1) * x;
      loss += (i + 1) * x * x;
    }
    return loss;
  });
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(lbfgs.Step(1).ok());
  EXPECT_NEAR(parameters.values<float>()[0], 0, 1e-5);
  EXPECT_NEAR(parameters.values<float>()[1], 0, 1e-5);
}

}  // namespace
}  // namespace rutile
