#include "lib/optimizer/optimizer.h"

#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/machine/parallel_for.h"
#include "lib/optimizer/parameter_range.h"
#include "lib/tensorfile/named_tensors.h"

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
  for (const char* name : {"adam", "adamw", "rmsprop", "adagrad", "schedule-free-adamw", "sgd", "rowwise-adagrad"}) {
    all.push_back(DefaultOptimizerOptions(name).value());
    all.back().weight_decay = 0.1;
  }
  all.push_back(all[2]);  // rmsprop
  all.back().momentum = 0.9;
  all.back().centered = true;
  all.push_back(all[5]);  // sgd
  all.back().momentum = 0.9;
  all.back().dampening = 0.3;
  all.push_back(all.back());
  all.back().dampening = 0;
  all.back().nesterov = true;
  all.push_back(all[1]);  // adamw
  all.back().amsgrad = true;
  return all;
}

// Adam's first step is lr * sign(gradient), whatever the gradient's size (up to epsilon).
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

// A saved and restored optimizer goes on with the same bits.
TEST(OptimizerTest, StateSurvives) {
  const int64_t n = 37;
  for (const OptimizerOptions& options : AllOptions()) {
    for (const DType dtype : {DType::kF32, DType::kF64}) {
      SCOPED_TRACE(kOptimizerNames.Name(options.kind));
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

// Two ranges beside a third that is not trained: each moves as if it were alone, and the third stays unchanged.
TEST(OptimizerTest, RangesMoveAsIfAlone) {
  const int64_t n = 40;
  const std::vector<ParameterRange> ranges = {{3, 9, true}, {20, 17, true}};
  for (const OptimizerOptions& options : AllOptions()) {
    SCOPED_TRACE(kOptimizerNames.Name(options.kind));
    const auto all = MakeOptimizer(options, DType::kF32, n);
    const auto some = MakeOptimizer(options, DType::kF32, ranges);
    Tensor whole = RandomTensor(DType::kF32, n, "p"), parts = RandomTensor(DType::kF32, n, "p");
    const std::vector<double> start = whole.ToDoubles();
    for (int i = 0; i < 4; ++i) {
      all->Step(0.01, RandomTensor(DType::kF32, n, "g", i), &whole);
      some->Step(0.01, RandomTensor(DType::kF32, n, "g", i), &parts);
    }
    const std::vector<double> moved = whole.ToDoubles(), found = parts.ToDoubles();
    const std::vector<double> evaluated = some->EvaluationParameters(parts).ToDoubles();
    const std::vector<double> expected = all->EvaluationParameters(whole).ToDoubles();
    for (int64_t i = 0; i < n; ++i) {
      const bool trained = (i >= 3 && i < 12) || (i >= 20 && i < 37);
      EXPECT_EQ(found[i], trained ? moved[i] : start[i]) << i;
      EXPECT_EQ(evaluated[i], trained ? expected[i] : start[i]) << i;
    }
    const bool keeps = options.kind != OptimizerKind::kSgd || options.momentum > 0;
    EXPECT_EQ(some->State().begin()->second.num_elements(), keeps ? 26 : 1);
  }
}

// Ranges with decays = false move as without weight decay.
TEST(OptimizerTest, DecayIsOfRanges) {
  const int64_t n = 30;
  for (OptimizerOptions options : AllOptions()) {
    SCOPED_TRACE(kOptimizerNames.Name(options.kind));
    const auto mixed = MakeOptimizer(options, DType::kF64, std::vector<ParameterRange>{{0, 12, true}, {12, 18, false}});
    const auto decaying = MakeOptimizer(options, DType::kF64, n);
    options.weight_decay = 0;
    const auto plain = MakeOptimizer(options, DType::kF64, n);
    Tensor a = RandomTensor(DType::kF64, n, "p"), b = RandomTensor(DType::kF64, n, "p");
    Tensor c = RandomTensor(DType::kF64, n, "p");
    for (int i = 0; i < 3; ++i) {
      mixed->Step(0.05, RandomTensor(DType::kF64, n, "g", i), &a);
      decaying->Step(0.05, RandomTensor(DType::kF64, n, "g", i), &b);
      plain->Step(0.05, RandomTensor(DType::kF64, n, "g", i), &c);
    }
    const auto of_mixed = a.values<double>(), of_decaying = b.values<double>(), of_plain = c.values<double>();
    for (int64_t i = 0; i < n; ++i) {
      EXPECT_EQ(of_mixed[i], (i < 12 ? of_decaying : of_plain)[i]) << i;
      EXPECT_NE(of_decaying[i], of_plain[i]) << i;
    }
  }
}

// A step with `scale` equals a step with the product, and parts in any order equal the whole, to the bit.
TEST(OptimizerTest, ScaledAndInParts) {
  const int64_t n = 60;
  const double scale = 1.0 / 3;
  const std::vector<ParameterRange> ranges = {{3, 9, true}, {20, 37, false}};
  for (const OptimizerOptions& options : AllOptions()) {
    SCOPED_TRACE(kOptimizerNames.Name(options.kind));
    const auto plain = MakeOptimizer(options, DType::kF32, ranges),
               scaled = MakeOptimizer(options, DType::kF32, ranges),
               parts = MakeOptimizer(options, DType::kF32, ranges);
    Tensor a = RandomTensor(DType::kF32, n, "p"), b = RandomTensor(DType::kF32, n, "p"),
           c = RandomTensor(DType::kF32, n, "p");
    for (int i = 0; i < 3; ++i) {
      const Tensor g = RandomTensor(DType::kF32, n, "g", i);
      Tensor product = RandomTensor(DType::kF32, n, "g", i);
      for (float& value : product.mutable_values<float>()) value *= static_cast<float>(scale);
      plain->Step(0.01, product, &a);
      scaled->Step(0.01, g, &b, scale);
      parts->BeginStep(0.01);
      for (const auto& [begin, end] : {std::make_pair(21, 60), std::make_pair(0, 5), std::make_pair(5, 21)}) {
        parts->StepPart(begin, g.Slice(begin, {end - begin}), scale, &c);
      }
    }
    EXPECT_EQ(a.ToDoubles(), b.ToDoubles());
    EXPECT_EQ(a.ToDoubles(), c.ToDoubles());
    for (const auto& [name, tensor] : plain->State()) {
      EXPECT_EQ(parts->State().At(name).ToDoubles(), tensor.ToDoubles()) << name;
    }
  }
}

TEST(OptimizerTest, AnyThreadsMoveAlike) {
  const int64_t n = 150001;
  ThreadPool pool(3);
  for (const OptimizerOptions& options : AllOptions()) {
    SCOPED_TRACE(kOptimizerNames.Name(options.kind));
    const std::vector<ParameterRange> ranges = {{7, 70000, true}, {100003, 49998, false}};
    const auto one = MakeOptimizer(options, DType::kF32, ranges), three = MakeOptimizer(options, DType::kF32, ranges);
    three->SetThreads(&pool);
    Tensor a = RandomTensor(DType::kF32, n, "p"), b = RandomTensor(DType::kF32, n, "p");
    for (int i = 0; i < 2; ++i) {
      const Tensor g = RandomTensor(DType::kF32, n, "g", i);
      one->Step(0.01, g, &a, 0.3);
      three->Step(0.01, g, &b, 0.3);
    }
    EXPECT_EQ(a.ToDoubles(), b.ToDoubles());
  }
}

TEST(OptimizerTest, NothingRestsAndTrainedIsEvaluated) {
  const auto adam = MakeOptimizer(DefaultOptimizerOptions("adam").value(), DType::kF32, 3);
  const Tensor parameters = RandomTensor(DType::kF32, 3, "p");
  EXPECT_EQ(&adam->EvaluationParameters(parameters), &parameters);
  EXPECT_TRUE(adam->frozen().empty());
}

TEST(OptimizerDeathTest, RejectsShortTensors) {
  const auto adam = MakeOptimizer(DefaultOptimizerOptions("adam").value(), DType::kF32, 3);
  Tensor parameters = RandomTensor(DType::kF32, 3, "p");
  EXPECT_DEATH(adam->Step(0.1, RandomTensor(DType::kF32, 2, "g"), &parameters), "2 vs. 3");
  EXPECT_DEATH(adam->Step(0.1, RandomTensor(DType::kF64, 3, "g"), &parameters), "F64");
}

}  // namespace
}  // namespace rutile
