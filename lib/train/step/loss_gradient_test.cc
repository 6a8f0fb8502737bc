#include "lib/train/step/loss_gradient.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/task/eager_options.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/testing/half_task.h"
#include "lib/testing/toy_task.h"
#include "lib/train/files/checkpoint.h"
#include "lib/train/options/trainer_options.h"

namespace rutile {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

// A toy task with three terms whose roots are combined: examples 0, 3, 6... have a slope, 4, 9, 14... a strain.
ToyTaskOptions ThreeTerms() {
  ToyTaskOptions options;
  options.root = true;
  options.strain_every = 5;
  return options;
}

NamedTensors Batch(const ToyTask& task, const std::vector<int64_t>& examples) {
  NamedTensors batch;
  EXPECT_TRUE(task.MakeBatch(examples, &batch).ok());
  return batch;
}

class LossGradientTest : public ::testing::TestWithParam<CompileMode> {};

// Each batch lacks a term; the expected gradient comes from finite differences of the loss, written out here.
TEST_P(LossGradientTest, IsTheGradientOfTheLossOfAllBatches) {
  ToyTask task(ThreeTerms());
  const std::vector<std::vector<int64_t>> batches = {{0, 1, 2, 3}, {4, 5}, {7, 8}};  // 2 slopes, 1 strain, neither
  const std::vector<double> start = task.InitialParameters(3).ToDoubles();
  const auto loss_at = [&](const std::vector<double>& parameters, LossGradient* loss) {
    loss->Clear();
    for (const auto& batch : batches) EXPECT_TRUE(loss->Add(Tensor::Of(parameters), Batch(task, batch)).ok());
    return loss->Combine(Checkpoint(), {}).value();
  };
  LossGradient loss(task, GetParam());
  loss_at(start, &loss);
  const double value = loss_at(start, &loss);  // Clear has forgotten the first
  const TermSums sums = loss.sums();
  EXPECT_THAT(sums.count, ElementsAre(8, 2, 1));
  EXPECT_NEAR(value,
              0.625 * std::sqrt(sums.sum[0] / 8) + 0.25 * std::sqrt(sums.sum[1] / 2) + 0.125 * std::sqrt(sums.sum[2]),
              1e-14);
  const std::vector<double> gradient = loss.gradient().ToDoubles();
  double squares = 0;
  for (size_t i = 0; i < start.size(); ++i) {
    std::vector<double> up = start, down = start;
    up[i] += 1e-6;
    down[i] -= 1e-6;
    EXPECT_NEAR((loss_at(up, &loss) - loss_at(down, &loss)) / 2e-6, gradient[i], 1e-8) << i;
    squares += gradient[i] * gradient[i];
  }
  loss_at(start, &loss);
  EXPECT_NEAR(loss.norm(), std::sqrt(squares), 1e-14);
}

TEST_P(LossGradientTest, WithoutAnyValueNothingMoves) {
  ToyTask task(ThreeTerms());
  LossGradient loss(task, GetParam());
  EXPECT_EQ(loss.Combine(Checkpoint(), {}).value(), 0);
  EXPECT_THAT(loss.gradient().ToDoubles(), Each(0));
}

TEST_P(LossGradientTest, NotFiniteNamesStepAndExamples) {
  ToyTaskOptions options = ThreeTerms();
  options.nan_example = 2;
  ToyTask task(options);
  LossGradient loss(task, GetParam());
  ASSERT_TRUE(loss.Add(task.InitialParameters(3), Batch(task, {0, 1, 2})).ok());
  Checkpoint state;
  state.epoch = 4;
  state.step = 99;
  const absl::Status status = loss.Combine(state, {0, 1, 2, 3, 4, 5}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("the loss is not finite in epoch 5, step 100 (loss nan; examples 0, 1, 2, 3, 4, ...)"));
}

// Whatever the task leaves there (the toy: NaN), frozen parameters have no gradient and are not in the norm.
TEST_P(LossGradientTest, WhatRestsHasNoGradient) {
  ToyTask task(ThreeTerms());
  const Tensor parameters = task.InitialParameters(3);
  const NamedTensors batch = Batch(task, {0, 1, 2, 3, 4});
  std::vector<double> whole;
  {
    LossGradient loss(task, GetParam());
    const std::vector<bool> none, weights = {true, false}, bias = {false, true};
    const auto gradient = [&](const std::vector<bool>& frozen) {
      loss.SetFrozen(frozen);
      loss.Clear();
      EXPECT_TRUE(loss.Add(parameters, batch).ok());
      EXPECT_TRUE(loss.Combine(Checkpoint(), {}).ok());
      return loss.gradient().ToDoubles();
    };
    whole = gradient(none);
    const double norm = loss.norm();
    const std::vector<double> of_bias = gradient(weights);
    EXPECT_THAT(of_bias, ElementsAre(0, 0, 0, DoubleNear(whole[3], 1e-14)));
    EXPECT_NEAR(loss.norm(), std::abs(whole[3]), 1e-14);
    const double norm_of_bias = loss.norm();
    EXPECT_THAT(gradient(bias),
                ElementsAre(DoubleNear(whole[0], 1e-14), DoubleNear(whole[1], 1e-14), DoubleNear(whole[2], 1e-14), 0));
    EXPECT_NEAR(std::hypot(loss.norm(), norm_of_bias), norm, 1e-13);
    EXPECT_THAT(gradient(none), Pointwise(DoubleNear(1e-14), whole));
    gradient(bias);
  }
  EXPECT_TRUE(task.frozen().empty());  // for who comes next
}

INSTANTIATE_TEST_SUITE_P(Modes, LossGradientTest, ::testing::Values(CompileMode::kCompile, CompileMode::kNone));

TEST(LossGradientModeTest, ModesAgree) {
  ToyTask task(ThreeTerms());
  std::vector<std::vector<double>> gradients;
  for (const CompileMode mode : {CompileMode::kCompile, CompileMode::kNone}) {
    LossGradient loss(task, mode);
    ASSERT_TRUE(loss.Add(task.InitialParameters(3), Batch(task, {0, 4, 9, 2, 9})).ok());  // one of them twice
    ASSERT_TRUE(loss.Combine(Checkpoint(), {}).ok());
    EXPECT_THAT(loss.sums().count, ElementsAre(5, 3, 3));
    gradients.push_back(loss.gradient().ToDoubles());
  }
  EXPECT_THAT(gradients[0], Pointwise(DoubleNear(1e-13), gradients[1]));
}

EagerOptions Fp16() {
  EagerOptions options;
  options.precision = Precision::kFp16Mixed;
  return options;
}

TEST(LossGradientFp16Test, ScalesDownUntilTheGradientIsFinite) {
  HalfTask task(ThreeTerms());
  const NamedTensors batch = Batch(task, {0, 4, 9, 2});
  const Tensor start = task.InitialParameters(3);
  LossGradient plain(task, CompileMode::kNone), loss(task, CompileMode::kNone, Fp16());
  EXPECT_TRUE(plain.State().empty());
  const auto run = [&](LossGradient* gradient) {
    gradient->Clear();
    EXPECT_TRUE(gradient->Add(start, batch).ok());
    return gradient->Combine(Checkpoint(), {}).value();
  };
  const double value = run(&plain);
  EXPECT_FALSE(plain.overflowed());
  EXPECT_EQ(run(&loss), value);
  EXPECT_TRUE(loss.overflowed());
  EXPECT_EQ(loss.State().At("grad_scaler").ToDoubles()[0], 32768);
  EXPECT_EQ(run(&loss), value);
  EXPECT_FALSE(loss.overflowed());
  // Scaling by a power of 2 changes no bits.
  EXPECT_EQ(loss.gradient().ToDoubles(), plain.gradient().ToDoubles());
  EXPECT_EQ(loss.norm(), plain.norm());

  LossGradient resumed(task, CompileMode::kNone, Fp16());
  ASSERT_TRUE(resumed.SetState(loss.State()).ok());
  EXPECT_EQ(run(&resumed), value);
  EXPECT_FALSE(resumed.overflowed());
  EXPECT_FALSE(resumed.SetState(NamedTensors()).ok());
}

TEST(LossGradientFp16Test, NumbersThatNoScaleHelpsAreAnError) {
  ToyTaskOptions options = ThreeTerms();
  options.nan_example = 2;
  HalfTask nan(options);
  LossGradient loss(nan, CompileMode::kNone, Fp16());
  ASSERT_TRUE(loss.Add(nan.InitialParameters(3), Batch(nan, {0, 1, 2})).ok());
  EXPECT_EQ(loss.Combine(Checkpoint(), {2}).status().code(), absl::StatusCode::kOutOfRange);

  HalfTask task(ThreeTerms());
  LossGradient exhausted(task, CompileMode::kNone, Fp16());
  NamedTensors state;
  state.Set("grad_scaler", Tensor::Of<double>({0x1p-15, 0}));
  ASSERT_TRUE(exhausted.SetState(state).ok());
  task.broken = true;
  ASSERT_TRUE(exhausted.Add(task.InitialParameters(3), Batch(task, {0})).ok());
  const absl::Status status = exhausted.Combine(Checkpoint(), {0}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(status.message()), HasSubstr("the gradient is not finite"));
}

}  // namespace
}  // namespace rutile
