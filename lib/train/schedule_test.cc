#include "lib/train/schedule.h"

#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

std::vector<double> RatesOfEpochs(const ScheduleOptions& options, double learning_rate, int n) {
  const Schedule schedule(options, learning_rate);
  std::vector<double> rates;
  for (int epoch = 0; epoch < n; ++epoch) rates.push_back(schedule.LearningRate(epoch, 10 * epoch));
  return rates;
}

void ExpectNear(const std::vector<double>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-15) << i;
}

TEST(ScheduleTest, Constant) { ExpectNear(RatesOfEpochs({}, 0.5, 3), {0.5, 0.5, 0.5}); }

// The tables are those of torch.optim.lr_scheduler: the rate that epoch t trains with, scheduler.step() called after
// every epoch.
TEST(ScheduleTest, StepLr) {
  ScheduleOptions options;
  options.kind = ScheduleKind::kStep;
  options.period = 2;
  options.factor = 0.5;
  ExpectNear(RatesOfEpochs(options, 0.1, 7), {0.1, 0.1, 0.05, 0.05, 0.025, 0.025, 0.0125});
}

TEST(ScheduleTest, ExponentialLr) {
  ScheduleOptions options;
  options.kind = ScheduleKind::kExponential;
  options.factor = 0.9;
  ExpectNear(RatesOfEpochs(options, 1, 4), {1, 0.9, 0.81, 0.729});
}

TEST(ScheduleTest, CosineAnnealingLr) {
  ScheduleOptions options;
  options.kind = ScheduleKind::kCosine;
  options.period = 4;
  options.min_learning_rate = 0.2;
  const double root = std::sqrt(0.5);
  // After the period it stays: PyTorch's would rise again.
  ExpectNear(RatesOfEpochs(options, 1, 6), {1, 0.6 + 0.4 * root, 0.6, 0.6 - 0.4 * root, 0.2, 0.2});
}

TEST(ScheduleTest, CountsStepsWhenAsked) {
  ScheduleOptions options;
  options.kind = ScheduleKind::kExponential;
  options.factor = 0.5;
  options.per_step = true;
  const Schedule schedule(options, 1);
  EXPECT_DOUBLE_EQ(schedule.LearningRate(0, 3), 0.125);
  EXPECT_DOUBLE_EQ(schedule.LearningRate(7, 3), 0.125);
}

TEST(ScheduleTest, NeverBelowTheMinimum) {
  ScheduleOptions options;
  options.kind = ScheduleKind::kExponential;
  options.factor = 0.1;
  options.min_learning_rate = 0.05;
  ExpectNear(RatesOfEpochs(options, 1, 4), {1, 0.1, 0.05, 0.05});
  // A rate that starts below it is not raised.
  ExpectNear(RatesOfEpochs(options, 0.01, 2), {0.01, 0.01});
}

TEST(ScheduleTest, LinearWarmup) {
  ScheduleOptions options;
  options.warmup_steps = 4;
  options.warmup_start = 0.5;
  const Schedule schedule(options, 0.05);
  // torch.optim.lr_scheduler.LinearLR(start_factor=0.5, total_iters=4), the example of its documentation.
  const double expected[] = {0.025, 0.03125, 0.0375, 0.04375, 0.05, 0.05};
  for (int step = 0; step < 6; ++step) EXPECT_DOUBLE_EQ(schedule.LearningRate(0, step), expected[step]);
}

// ReduceLROnPlateau(mode="min", factor=0.5, patience=1, threshold=0.1), worked out by its rules: the second bad value
// in a row reduces; an improvement of less than 10 % is bad.
TEST(ScheduleTest, ReduceOnPlateau) {
  ScheduleOptions options;
  options.kind = ScheduleKind::kPlateau;
  options.factor = 0.5;
  options.patience = 1;
  options.threshold = 0.1;
  options.min_learning_rate = 0.2;
  Schedule schedule(options, 1);
  const double losses[] = {1.0, 0.95, 0.85, 0.84, 0.83, 0.82, 0.81, 0.80, 0.79, 0.78, 0.1};
  const double expected[] = {1, 1, 1, 1, 0.5, 0.5, 0.25, 0.25, 0.2, 0.2, 0.2};
  for (int i = 0; i < 11; ++i) {
    schedule.Observe(losses[i]);
    EXPECT_DOUBLE_EQ(schedule.LearningRate(i, i), expected[i]) << i;
  }
}

TEST(ScheduleTest, PlateauCoolsDown) {
  ScheduleOptions options;
  options.kind = ScheduleKind::kPlateau;
  options.factor = 0.5;
  options.patience = 0;
  options.cooldown = 2;
  Schedule schedule(options, 1);
  const double expected[] = {1, 0.5, 0.5, 0.5, 0.25};
  for (const double rate : expected) {
    schedule.Observe(1);
    EXPECT_DOUBLE_EQ(schedule.LearningRate(0, 0), rate);
  }
}

TEST(ScheduleTest, PlateauStateSurvives) {
  ScheduleOptions options;
  options.kind = ScheduleKind::kPlateau;
  options.patience = 1;
  Schedule first(options, 1);
  for (const double loss : {1.0, 2.0}) first.Observe(loss);
  Schedule second(options, 1);
  ASSERT_TRUE(second.SetState(first.State()).ok());
  second.Observe(2);
  EXPECT_DOUBLE_EQ(second.LearningRate(0, 0), 0.1);
  EXPECT_THAT(std::string(second.SetState({}).message()), HasSubstr("plateau"));
}

TEST(ScheduleTest, Names) {
  for (const char* name : {"constant", "step", "exponential", "cosine", "plateau"}) {
    EXPECT_EQ(ScheduleName(ParseScheduleKind(name).value()), name);
  }
  EXPECT_THAT(std::string(ParseScheduleKind("cyclic").status().message()), HasSubstr("the choices are constant"));
}

TEST(ScheduleTest, RefusesOptionsOutOfRange) {
  const auto message = [](void (*change)(ScheduleOptions*)) {
    ScheduleOptions options;
    change(&options);
    return std::string(CheckScheduleOptions(options).message());
  };
  EXPECT_EQ(message([](ScheduleOptions*) {}), "");
  EXPECT_THAT(message([](ScheduleOptions* o) { o->kind = ScheduleKind::kStep; }), HasSubstr("period is 0"));
  EXPECT_THAT(message([](ScheduleOptions* o) { o->kind = ScheduleKind::kExponential, o->factor = 1.5; }),
              HasSubstr("factor is 1.5"));
  EXPECT_THAT(message([](ScheduleOptions* o) { o->kind = ScheduleKind::kPlateau, o->factor = 1; }),
              HasSubstr("expected below 1"));
  EXPECT_THAT(message([](ScheduleOptions* o) { o->min_learning_rate = -1; }), HasSubstr("min_learning_rate"));
  EXPECT_THAT(message([](ScheduleOptions* o) { o->warmup_start = 2; }), HasSubstr("warmup_start"));
  EXPECT_THAT(message([](ScheduleOptions* o) { o->patience = -1; }), HasSubstr("patience"));
}

}  // namespace
}  // namespace rutile
