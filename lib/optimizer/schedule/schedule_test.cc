#include "lib/optimizer/schedule/schedule.h"

#include <vector>

#include "gtest/gtest.h"

namespace rutile {
namespace {

TEST(ScheduleTest, CountsEpochsOrSteps) {
  ScheduleOptions options;
  options.kind = ScheduleKind::kExponential;
  options.factor = 0.5;
  EXPECT_DOUBLE_EQ(Schedule(options, 1).LearningRate(7, 3), 1.0 / 128);
  options.per_step = true;
  EXPECT_DOUBLE_EQ(Schedule(options, 1).LearningRate(7, 3), 0.125);
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

// Returns the rates of all steps of a run of ten epochs of ten steps.
std::vector<double> RatesOfRun(const ScheduleOptions& options, double learning_rate) {
  const ScheduleOptions resolved = ResolveSchedule(options, 10, -1, 10).value();
  const Schedule schedule(resolved, learning_rate);
  std::vector<double> rates;
  for (int step = 0; step < 100; ++step) rates.push_back(schedule.LearningRate(step / 10, step));
  return rates;
}

TEST(ScheduleTest, CoolsDownInAStraightLine) {
  ScheduleOptions options;
  options.cooldown_steps = 20;
  options.min_learning_rate = 0.1;
  const std::vector<double> rates = RatesOfRun(options, 0.5);
  for (int step = 0; step <= 80; ++step) EXPECT_EQ(rates[step], 0.5) << step;
  for (int step = 81; step < 100; ++step) EXPECT_NEAR(rates[step], 0.1 + 0.4 * (100 - step) / 20, 1e-15) << step;
  // The same cool-down is given in epochs.
  options.cooldown_steps = 0;
  options.cooldown_epochs = 2;
  EXPECT_EQ(RatesOfRun(options, 0.5), rates);
}

// The cool-down is a line from the rate that the schedule has reached; the schedule itself stands still.
TEST(ScheduleTest, CoolsDownFromWhereTheScheduleIs) {
  ScheduleOptions options;
  options.kind = ScheduleKind::kStep;
  options.factor = 0.5;
  options.period = 3;
  options.cooldown_steps = 40;
  const std::vector<double> rates = RatesOfRun(options, 1);
  EXPECT_EQ(rates[59], 0.5);
  EXPECT_EQ(rates[60], 0.25);
  EXPECT_EQ(rates[80], 0.125);
  EXPECT_EQ(rates[90], 0.0625);
  options.warmup_steps = 120;  // longer than the run
  options.warmup_start = 0;
  EXPECT_DOUBLE_EQ(RatesOfRun(options, 1)[80], 0.0625);
}

// A schedule that spans the run ends where the cool-down begins: a cosine is at its minimum from there on.
TEST(ScheduleTest, CoolDownAfterACosine) {
  ScheduleOptions options;
  options.kind = ScheduleKind::kCosine;
  options.min_learning_rate = 0.1;
  options.cooldown_epochs = 2;
  for (const bool per_step : {false, true}) {
    options.per_step = per_step;
    const std::vector<double> rates = RatesOfRun(options, 1);
    EXPECT_DOUBLE_EQ(rates[40], 0.55);
    for (int step = 80; step < 100; ++step) EXPECT_DOUBLE_EQ(rates[step], 0.1) << step;
  }
}

TEST(ScheduleTest, CoolsDownOnAPlateau) {
  ScheduleOptions options;
  options.kind = ScheduleKind::kPlateau;
  options.patience = 0;
  options.cooldown_steps = 10;
  Schedule schedule(ResolveSchedule(options, 10, -1, 10).value(), 1);
  EXPECT_EQ(schedule.LearningRate(9, 90), 1);
  for (const double loss : {1.0, 1.0}) schedule.Observe(loss);
  EXPECT_DOUBLE_EQ(schedule.LearningRate(9, 90), 0.1);
  EXPECT_DOUBLE_EQ(schedule.LearningRate(9, 95), 0.05);
  EXPECT_EQ(schedule.LearningRate(10, 100), 0);
  EXPECT_EQ(schedule.LearningRate(10, 101), 0);
}

// The cool-down does not raise a rate below the minimum.
TEST(ScheduleTest, CoolDownNeverRises) {
  ScheduleOptions options;
  options.min_learning_rate = 0.5;
  options.cooldown_steps = 20;
  EXPECT_EQ(RatesOfRun(options, 0.1), std::vector<double>(100, 0.1));
}

TEST(ScheduleTest, ObservesForPlateauAlone) {
  Schedule schedule({}, 1);
  for (int i = 0; i < 100; ++i) schedule.Observe(1);
  EXPECT_EQ(schedule.LearningRate(100, 100), 1);
  EXPECT_EQ(schedule.State().At("plateau").ToDoubles()[0], 1);
}

TEST(ScheduleTest, PlateauStateSurvives) {
  ScheduleOptions options;
  options.kind = ScheduleKind::kPlateau;
  options.patience = 1;
  Schedule first(options, 1), second(options, 1);
  for (const double loss : {1.0, 2.0}) first.Observe(loss);
  ASSERT_TRUE(second.SetState(first.State()).ok());
  second.Observe(2);
  EXPECT_DOUBLE_EQ(second.LearningRate(0, 0), 0.1);
  EXPECT_FALSE(second.SetState({}).ok());
}

}  // namespace
}  // namespace rutile
