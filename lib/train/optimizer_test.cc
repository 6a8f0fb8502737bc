#include "lib/train/optimizer.h"

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

Tensor RandomTensor(DType dtype, int64_t n, const char* purpose, int step = 0) {
  RandomStream stream(3, purpose, step);
  Tensor tensor = Tensor::Zeros(dtype, {n});
  for (int64_t i = 0; i < n; ++i) {
    if (dtype == DType::kF32) {
      tensor.mutable_values<float>()[i] = static_cast<float>(stream.Normal());
    } else {
      tensor.mutable_values<double>()[i] = stream.Normal();
    }
  }
  return tensor;
}

std::vector<OptimizerOptions> AllOptions() {
  std::vector<OptimizerOptions> all;
  for (const char* name : {"adam", "adamw", "sgd"}) {
    all.push_back(DefaultOptimizerOptions(name).value());
    all.back().weight_decay = 0.1;
  }
  all.push_back(all.back());
  all.back().momentum = 0.9;
  all.back().dampening = 0.3;
  all.push_back(all.back());
  all.back().dampening = 0;
  all.back().nesterov = true;
  return all;
}

// Adam's first step is lr * sign(gradient), whatever the gradient's size (to epsilon).
TEST(OptimizerTest, FirstStepOfAdamIsTheLearningRate) {
  const OptimizerOptions options = DefaultOptimizerOptions("adam").value();
  const auto adam = MakeOptimizer(options, DType::kF64, 3);
  Tensor parameters = Tensor::Of<double>({1, 1, 1});
  adam->Step(1e-3, Tensor::Of<double>({5, -200, 1e-3}), &parameters);
  EXPECT_NEAR(parameters.values<double>()[0], 1 - 1e-3, 1e-11);
  EXPECT_NEAR(parameters.values<double>()[1], 1 + 1e-3, 1e-11);
  EXPECT_NEAR(parameters.values<double>()[2], 1 - 1e-3, 1e-7);
}

TEST(OptimizerTest, AdamWShrinksWithoutGradient) {
  OptimizerOptions options = DefaultOptimizerOptions("adamw").value();
  options.weight_decay = 0.5;
  const auto adamw = MakeOptimizer(options, DType::kF64, 1);
  Tensor parameters = Tensor::Of<double>({2});
  for (int i = 0; i < 3; ++i) adamw->Step(0.1, Tensor::Zeros(DType::kF64, {1}), &parameters);
  EXPECT_NEAR(parameters.values<double>()[0], 2 * std::pow(0.95, 3), 1e-15);
}

TEST(OptimizerTest, PlainSgdIsOneLine) {
  const auto sgd = MakeOptimizer(DefaultOptimizerOptions("sgd").value(), DType::kF64, 2);
  Tensor parameters = Tensor::Of<double>({1, 2});
  sgd->Step(0.5, Tensor::Of<double>({4, -2}), &parameters);
  EXPECT_EQ(parameters.ToDoubles(), (std::vector<double>{-1, 3}));
}

// A saved and restored optimiser goes on with the same bits.
TEST(OptimizerTest, StateSurvives) {
  const int64_t n = 37;
  for (const OptimizerOptions& options : AllOptions()) {
    for (const DType dtype : {DType::kF32, DType::kF64}) {
      SCOPED_TRACE(OptimizerName(options.kind));
      const auto first = MakeOptimizer(options, dtype, n);
      Tensor parameters = RandomTensor(dtype, n, "p");
      for (int i = 0; i < 4; ++i) first->Step(0.01, RandomTensor(dtype, n, "g", i), &parameters);
      const auto second = MakeOptimizer(options, dtype, n);
      ASSERT_TRUE(second->SetState(first->State()).ok());
      Tensor copy = Tensor::Zeros(dtype, {n});
      std::memcpy(copy.mutable_data(), parameters.data(), parameters.num_bytes());
      for (int i = 4; i < 7; ++i) {
        first->Step(0.01, RandomTensor(dtype, n, "g", i), &parameters);
        second->Step(0.01, RandomTensor(dtype, n, "g", i), &copy);
      }
      EXPECT_EQ(parameters.ToDoubles(), copy.ToDoubles());
    }
  }
}

TEST(OptimizerTest, StateOfAnotherShapeIsRefused) {
  for (const OptimizerOptions& options : AllOptions()) {
    const auto optimizer = MakeOptimizer(options, DType::kF32, 5);
    EXPECT_THAT(std::string(optimizer->SetState({}).message()), HasSubstr("no tensor"));
    if (options.kind == OptimizerKind::kSgd && options.momentum == 0) continue;
    EXPECT_THAT(std::string(optimizer->SetState(MakeOptimizer(options, DType::kF32, 4)->State()).message()),
                HasSubstr("F32 [4], expected F32 [5]"));
    EXPECT_THAT(std::string(optimizer->SetState(MakeOptimizer(options, DType::kF64, 5)->State()).message()),
                HasSubstr("F64 [5], expected F32 [5]"));
  }
}

TEST(OptimizerTest, DefaultsArePytorchs) {
  EXPECT_EQ(DefaultOptimizerOptions("adam")->learning_rate, 1e-3);
  EXPECT_EQ(DefaultOptimizerOptions("adam")->weight_decay, 0);
  EXPECT_EQ(DefaultOptimizerOptions("adamw")->weight_decay, 1e-2);
  EXPECT_EQ(DefaultOptimizerOptions("sgd")->learning_rate, 1e-2);
  EXPECT_EQ(DefaultOptimizerOptions("lbfgs")->learning_rate, 1);
  EXPECT_THAT(std::string(DefaultOptimizerOptions("rprop").status().message()),
              HasSubstr("the choices are adam, adamw, sgd, lbfgs"));
}

TEST(OptimizerTest, RefusesOptionsOutOfRange) {
  const auto message = [](const char* name, void (*change)(OptimizerOptions*)) {
    OptimizerOptions options = DefaultOptimizerOptions(name).value();
    change(&options);
    return std::string(CheckOptimizerOptions(options).message());
  };
  EXPECT_EQ(message("adam", [](OptimizerOptions*) {}), "");
  EXPECT_THAT(message("adam", [](OptimizerOptions* o) { o->learning_rate = 0; }), HasSubstr("learning_rate is 0"));
  EXPECT_THAT(message("adam", [](OptimizerOptions* o) { o->learning_rate = NAN; }), HasSubstr("learning_rate is nan"));
  EXPECT_THAT(message("adam", [](OptimizerOptions* o) { o->beta1 = 1; }), HasSubstr("beta1 is 1"));
  EXPECT_THAT(message("adam", [](OptimizerOptions* o) { o->beta2 = -0.1; }), HasSubstr("beta2"));
  EXPECT_THAT(message("adam", [](OptimizerOptions* o) { o->epsilon = -1; }), HasSubstr("epsilon"));
  EXPECT_THAT(message("adam", [](OptimizerOptions* o) { o->weight_decay = -1; }), HasSubstr("weight_decay"));
  EXPECT_THAT(message("sgd", [](OptimizerOptions* o) { o->momentum = 1; }), HasSubstr("momentum"));
  EXPECT_THAT(message("sgd", [](OptimizerOptions* o) { o->nesterov = true; }), HasSubstr("nesterov needs momentum"));
  EXPECT_THAT(message("lbfgs", [](OptimizerOptions* o) { o->weight_decay = 0.1; }),
              HasSubstr("does not go with lbfgs"));
  EXPECT_THAT(message("lbfgs", [](OptimizerOptions* o) { o->history_size = 0; }), HasSubstr("history_size"));
}

}  // namespace
}  // namespace rutile
