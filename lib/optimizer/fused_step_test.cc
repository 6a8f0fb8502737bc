#include "lib/optimizer/fused_step.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/optimizer/optimizer.h"
#include "lib/optimizer/optimizer_options.h"
#include "lib/optimizer/parameter_range.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {
namespace {

constexpr int64_t kSize = 500;
constexpr double kWeight = 1.0 / 7;

Tensor Random(DType dtype, const char* purpose, int step = 0) {
  RandomStream stream(3, purpose, step);
  std::vector<double> values(kSize);
  for (double& value : values) value = stream.Normal();
  return dtype == DType::kF64 ? Tensor::Of(values) : Tensor::Of(std::vector<float>(values.begin(), values.end()));
}

// Parts passed to the sink, of any alignment and in any order, with other parameters between and around them.
const std::vector<std::pair<int64_t, int64_t>> kParts = {{200, 333}, {17, 18}, {64, 164}, {333, 400}};

// Fills `gradient` with `whole` except for the parts, which go to the sink in other memory, as a task does.
void HandOver(const Tensor& whole, Tensor* gradient, FusedStep* step) {
  const std::vector<double> values = whole.ToDoubles();
  std::vector<bool> handed(kSize, false);
  for (const auto& [begin, end] : kParts) {
    for (int64_t i = begin; i < end; ++i) handed[i] = true;
  }
  for (int64_t i = 0; i < kSize; ++i) {
    const double value = handed[i] ? std::numeric_limits<double>::quiet_NaN() : values[i];
    if (whole.dtype() == DType::kF64) {
      gradient->mutable_values<double>()[i] = value;
    } else {
      gradient->mutable_values<float>()[i] = static_cast<float>(value);
    }
  }
  for (const auto& [begin, end] : kParts) step->Take(begin, whole.Slice(begin, {end - begin}));
}

// Steps with every kind of optimizer, on all parameters or some, match Optimizer::Step: parameters and state to the
// bit, norms to rounding.
TEST(FusedStepTest, IsTheStepOfTheWholeGradient) {
  for (const char* name : {"adam", "adamw", "rmsprop", "adagrad", "schedule-free-adamw", "sgd"}) {
    for (const DType dtype : {DType::kF32, DType::kF64}) {
      for (const bool some : {false, true}) {
        SCOPED_TRACE(name);
        OptimizerOptions options = DefaultOptimizerOptions(name).value();
        options.weight_decay = 0.1;
        std::vector<ParameterRange> ranges = {{0, kSize, true}};
        if (some) ranges = {{3, 67, true}, {90, 200, false}, {311, 100, true}};
        const std::unique_ptr<Optimizer> early = MakeOptimizer(options, dtype, ranges),
                                         whole = MakeOptimizer(options, dtype, ranges);
        Tensor parameters = Random(dtype, "p"), expected = Random(dtype, "p"), gradient = Tensor::Zeros(dtype, {kSize});
        FusedStep step;
        for (int i = 0; i < 3; ++i) {
          const Tensor g = Random(dtype, "g", i);
          step.Begin(early.get(), 0.01, kWeight, &parameters, &gradient, 4);
          HandOver(g, &gradient, &step);
          double squares = 0;
          for (const double value : g.ToDoubles()) squares += value * value;
          EXPECT_NEAR(step.Norm(), kWeight * std::sqrt(squares), 1e-6);
          EXPECT_EQ(step.bytes(), 4 * (133 + 1 + 100 + 67));
          step.Finish();
          whole->Step(0.01, g, &expected, kWeight);
          EXPECT_EQ(parameters.ToDoubles(), expected.ToDoubles());
          for (const auto& [key, tensor] : whole->State()) {
            EXPECT_EQ(early->State().At(key).ToDoubles(), tensor.ToDoubles()) << key;
          }
        }
      }
    }
  }
}

// Wherever the value that is not finite lies, first or last, Undo restores the parameters, and the norm reveals it.
TEST(FusedStepTest, UndoPutsParametersBackToTheBit) {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    for (const char* name : {"adam", "adam of some", "sgd"}) {
      std::vector<ParameterRange> ranges = {{0, kSize, true}};
      if (name == std::string("adam of some")) ranges = {{3, 67, true}, {90, 200, false}};
      const std::unique_ptr<Optimizer> optimizer =
          MakeOptimizer(DefaultOptimizerOptions(name == std::string("sgd") ? "sgd" : "adam").value(), dtype, ranges);
      Tensor parameters = Random(dtype, "p"), gradient = Tensor::Zeros(dtype, {kSize});
      const std::vector<double> before = parameters.ToDoubles();
      for (const int64_t at : {17, 200, 399, 499}) {
        SCOPED_TRACE(at);
        std::vector<double> values = Random(dtype, "g").ToDoubles();
        values[at] = std::numeric_limits<double>::infinity();
        FusedStep step;
        step.Begin(optimizer.get(), 0.01, kWeight, &parameters, &gradient, 0);
        HandOver(
            dtype == DType::kF64 ? Tensor::Of(values) : Tensor::Of(std::vector<float>(values.begin(), values.end())),
            &gradient, &step);
        EXPECT_NE(parameters.ToDoubles(), before);
        EXPECT_FALSE(std::isfinite(step.Norm()));
        step.Undo();
        EXPECT_EQ(parameters.ToDoubles(), before);
      }
    }
  }
}

TEST(FusedStepTest, NothingHandedOverIsAnOrdinaryStep) {
  const OptimizerOptions options = DefaultOptimizerOptions("adam").value();
  const std::unique_ptr<Optimizer> early = MakeOptimizer(options, DType::kF32, kSize),
                                   whole = MakeOptimizer(options, DType::kF32, kSize);
  Tensor parameters = Random(DType::kF32, "p"), expected = Random(DType::kF32, "p"),
         gradient = Random(DType::kF32, "g");
  FusedStep step;
  step.Begin(early.get(), 0.01, kWeight, &parameters, &gradient, 4);
  EXPECT_GT(step.Norm(), 0);
  EXPECT_EQ(step.bytes(), 0);
  step.Finish();
  whole->Step(0.01, gradient, &expected, kWeight);
  EXPECT_EQ(parameters.ToDoubles(), expected.ToDoubles());
}

TEST(FusedStepDeathTest, NothingIsTakenTwice) {
  const std::unique_ptr<Optimizer> optimizer =
      MakeOptimizer(DefaultOptimizerOptions("adam").value(), DType::kF32, kSize);
  Tensor parameters = Random(DType::kF32, "p"), gradient = Random(DType::kF32, "g");
  FusedStep step;
  step.Begin(optimizer.get(), 0.01, kWeight, &parameters, &gradient, 0);
  step.Take(0, Random(DType::kF32, "g").Slice(0, {10}));
  step.Take(9, Random(DType::kF32, "g").Slice(0, {10}));
  EXPECT_DEATH(step.Norm(), "taken twice");
}

}  // namespace
}  // namespace rutile
