#include "lib/optimizer/methods/schedule_free.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {
namespace {

using ::testing::DoubleNear;
using ::testing::Pointwise;

constexpr int64_t kSize = 11;

std::vector<double> Normals(const char* purpose, int step) {
  RandomStream stream(5, purpose, step);
  std::vector<double> values(kSize);
  for (double& value : values) value = stream.Normal();
  return values;
}

// The paper's Algorithm 1 with x, y and z all stored, as written there, with RMSprop's normalization and decay at y as
// in the authors' package.
struct PlainReference {
  std::vector<double> x, y, z, v = std::vector<double>(kSize);
  double sum = 0, highest = 0;
  int t = 0;

  void Step(const OptimizerOptions& options, double lr, const std::vector<double>& gradient) {
    ++t;
    highest = std::max(highest, lr);
    const double weight = std::pow(t, options.weight_step_power) * std::pow(highest, options.weight_lr_power);
    sum += weight;
    const double c = weight / sum;
    for (int64_t i = 0; i < kSize; ++i) {
      v[i] = options.beta2 * v[i] + (1 - options.beta2) * gradient[i] * gradient[i];
      const double corrected = v[i] / (1 - std::pow(options.beta2, t));
      z[i] -= lr * (gradient[i] / (std::sqrt(corrected) + options.epsilon) + options.weight_decay * y[i]);
      x[i] = (1 - c) * x[i] + c * z[i];
      y[i] = (1 - options.beta1) * z[i] + options.beta1 * x[i];
    }
  }
};

void ExpectReference(const OptimizerOptions& options, const std::vector<double>& rates) {
  const auto optimizer = MakeOptimizer(options, DType::kF64, kSize);
  PlainReference reference;
  reference.x = reference.y = reference.z = Normals("p", 0);
  Tensor parameters = Tensor::Of(reference.y);
  EXPECT_EQ(optimizer->EvaluationParameters(parameters).ToDoubles(), reference.x);
  for (size_t step = 0; step < rates.size(); ++step) {
    const std::vector<double> gradient = Normals("g", static_cast<int>(step) + 1);
    optimizer->Step(rates[step], Tensor::Of(gradient), &parameters);
    reference.Step(options, rates[step], gradient);
    ASSERT_THAT(parameters.ToDoubles(), Pointwise(DoubleNear(1e-12), reference.y)) << step;
    ASSERT_THAT(optimizer->EvaluationParameters(parameters).ToDoubles(), Pointwise(DoubleNear(1e-12), reference.x))
        << step;
  }
}

TEST(ScheduleFreeTest, IsThePapersAlgorithm) {
  OptimizerOptions options = DefaultOptimizerOptions("schedule-free-adamw").value();
  ExpectReference(options, std::vector<double>(40, 2.5e-3));
  options.beta1 = 0.6;
  options.beta2 = 0.95;
  options.weight_decay = 0.1;
  options.epsilon = 1e-3;
  options.weight_step_power = 1;
  ExpectReference(options, std::vector<double>(40, 0.02));
}

// The run's warm-up raises the rate, and the average weighs steps by the square of the highest rate so far.
TEST(ScheduleFreeTest, WarmUpCountsLittle) {
  std::vector<double> rates;
  for (int i = 0; i < 30; ++i) rates.push_back(0.02 * std::min(1.0, (i + 1) / 10.0));
  rates.push_back(0.01);  // lower: the highest still counts
  ExpectReference(DefaultOptimizerOptions("schedule-free-adamw").value(), rates);
}

// A schedule may set the rate to 0 before anything has moved.
TEST(ScheduleFreeTest, ARateOfZeroMovesNothing) {
  const auto optimizer = MakeOptimizer(DefaultOptimizerOptions("schedule-free-adamw").value(), DType::kF64, kSize);
  Tensor parameters = Tensor::Of(Normals("p", 0));
  optimizer->Step(0, Tensor::Of(Normals("g", 1)), &parameters);
  EXPECT_EQ(parameters.ToDoubles(), Normals("p", 0));
}

// On a noisy quadratic bowl the average ends nearer to the minimum than the trained point.
TEST(ScheduleFreeTest, TheAverageIsTheBetterPoint) {
  OptimizerOptions options = DefaultOptimizerOptions("schedule-free-adamw").value();
  const auto optimizer = MakeOptimizer(options, DType::kF32, kSize);
  Tensor parameters = Tensor::Zeros(DType::kF32, {kSize});
  for (float& value : parameters.mutable_values<float>()) value = 1;
  const auto square = [](const Tensor& point) {
    double sum = 0;
    for (const double value : point.ToDoubles()) sum += value * value;
    return sum;
  };
  double trained = 0, evaluated = 0;
  for (int step = 0; step < 2000; ++step) {
    const std::vector<double> noise = Normals("noise", step);
    Tensor gradient = Tensor::Zeros(DType::kF32, {kSize});
    for (int64_t i = 0; i < kSize; ++i) {
      gradient.mutable_values<float>()[i] = static_cast<float>(parameters.values<float>()[i] + noise[i]);
    }
    optimizer->Step(0.05, gradient, &parameters);
    if (step < 1000) continue;
    trained += square(parameters);
    evaluated += square(optimizer->EvaluationParameters(parameters));
  }
  EXPECT_LT(evaluated, trained);
  EXPECT_LT(evaluated / 1000, 0.2);
}

}  // namespace
}  // namespace rutile
