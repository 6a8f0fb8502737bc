#include "tools/train/schedule_interval.h"

#include <gflags/gflags.h>

#include "gtest/gtest.h"
#include "tools/train/trainer_flags/trainer_flags.h"

namespace rutile {
namespace {

class ScheduleIntervalTest : public ::testing::Test {
 protected:
  ScheduleIntervalTest() {
    options_.schedule.kind = ScheduleKind::kCosine;
    options_.batch_size = 2;
    options_.stop.max_epochs = 1000;
  }

  // A run of `steps` steps an epoch.
  bool CountsSteps(const char* flag = "auto", int64_t steps = 200) {
    const gflags::FlagSaver saver;
    EXPECT_NE(gflags::SetCommandLineOption("lr_interval", flag), "");
    TrainerOptions options = options_;
    Split split;
    for (int64_t i = 0; i < 2 * steps; ++i) split.train.push_back(i);
    SetScheduleInterval(::testing::TempDir() + "/no-run", split, &options);
    return options.schedule.per_step;
  }

  TrainerOptions options_ = TrainerOptionsFromFlags().value();
};

TEST_F(ScheduleIntervalTest, FewEpochsCountSteps) {
  for (const ScheduleKind kind : {ScheduleKind::kLinear, ScheduleKind::kCosine, ScheduleKind::kPolynomial}) {
    options_.schedule.kind = kind;
    options_.stop.max_steps = -1;
    for (const int64_t epochs : {1, 2, 3, 4, 20, 200}) {
      options_.stop.max_epochs = epochs;
      EXPECT_EQ(CountsSteps(), epochs <= 2) << epochs;
    }
    options_.stop.max_steps = 400;  // which end a run of 200 epochs after the second
    EXPECT_TRUE(CountsSteps());
    options_.stop.max_steps = 401;
    EXPECT_FALSE(CountsSteps());
    options_.stop.max_epochs = -1;
    EXPECT_FALSE(CountsSteps());
    options_.stop.max_steps = 400;
    EXPECT_TRUE(CountsSteps());
  }
}

TEST_F(ScheduleIntervalTest, FewStepsStayAtEpochs) {
  options_.stop.max_epochs = 2;
  EXPECT_TRUE(CountsSteps("auto", 50));
  EXPECT_FALSE(CountsSteps("auto", 49));
  options_.stop.max_steps = 99;
  EXPECT_FALSE(CountsSteps());
  options_.stop.max_steps = 100;
  EXPECT_TRUE(CountsSteps());
}

TEST_F(ScheduleIntervalTest, ACoolDownIsNotSpanned) {
  options_.stop.max_epochs = 4;
  EXPECT_FALSE(CountsSteps());
  options_.schedule.cooldown_epochs = 2;
  EXPECT_TRUE(CountsSteps());
}

TEST_F(ScheduleIntervalTest, WhatIsGivenStays) {
  options_.stop.max_epochs = 2;
  EXPECT_FALSE(CountsSteps("epoch"));
  options_.schedule.per_step = true;
  EXPECT_TRUE(CountsSteps("step"));
  options_.stop.max_epochs = 200;
  EXPECT_TRUE(CountsSteps("step"));
}

TEST_F(ScheduleIntervalTest, OtherSchedulesStay) {
  options_.stop.max_epochs = 2;
  options_.schedule.period = 3;  // in epochs
  EXPECT_FALSE(CountsSteps());
  for (const ScheduleKind kind : {ScheduleKind::kStep, ScheduleKind::kExponential, ScheduleKind::kConstant}) {
    options_.schedule.kind = kind;
    EXPECT_FALSE(CountsSteps());
  }
  options_.schedule.kind = ScheduleKind::kOneCycle;
  options_.schedule.period = 0;
  options_.schedule.per_step = true;  // its flags say so
  EXPECT_TRUE(CountsSteps());
}

TEST_F(ScheduleIntervalTest, ARunWithoutAnEndIsLeftToTheTrainer) {
  options_.stop.max_epochs = -1;
  EXPECT_FALSE(CountsSteps());
}

}  // namespace
}  // namespace rutile
