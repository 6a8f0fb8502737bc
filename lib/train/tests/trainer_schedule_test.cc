// Learning rates of whole runs: schedules that span the run reach its end, whatever counts as a step.

#include <csignal>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/interrupt.h"
#include "lib/optimizer/optimizer.h"
#include "lib/optimizer/schedule/schedule.h"
#include "lib/testing/toy_task.h"
#include "lib/train/files/run_directory.h"
#include "lib/train/options/split.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/tests/trainer_testing.h"
#include "lib/train/trainer.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

constexpr double kRate = 0.02;

TrainerOptions Options(ScheduleKind kind, int64_t max_epochs) {
  TrainerOptions options;
  options.optimizer = DefaultOptimizerOptions("adam").value();
  options.optimizer.learning_rate = kRate;
  options.schedule.kind = kind;
  options.batch_size = 5;
  options.stop.max_epochs = max_epochs;
  return options;
}

absl::StatusOr<TrainResult> TrainToy(const TrainerOptions& options, const std::string& dir) {
  ToyTask task({});
  return Train(task, SplitExamples(task.num_examples(), SplitOptions()).value(), options, dir, {});
}

// Returns the learning rate of the last step of each epoch.
std::vector<double> Rates(TrainerOptions options) {
  std::vector<double> rates;
  options.on_epoch = [&](const EpochReport& report) { rates.push_back(report.learning_rate); };
  const absl::Status status = TrainToy(options, NewRunDirectory()).status();
  EXPECT_TRUE(status.ok()) << status;
  return rates;
}

// One-cycle reaches its lowest rate only in the last step of the run.
TEST(TrainerScheduleTest, OneCycleEndsWithTheRun) {
  TrainerOptions options = Options(ScheduleKind::kOneCycle, 4);
  options.schedule.per_step = true;
  const double last = kRate / 25 / 1e4;
  EXPECT_DOUBLE_EQ(Rates(options).back(), last);
  options.accumulate_grad_batches = 3;
  EXPECT_DOUBLE_EQ(Rates(options).back(), last);
  options.stop.max_epochs = -1;
  options.stop.max_steps = 11;
  EXPECT_DOUBLE_EQ(Rates(options).back(), last);
  options.accumulate_grad_batches = 1;
  options.optimizer = DefaultOptimizerOptions("lbfgs").value();
  options.stop.max_steps = 3;
  EXPECT_DOUBLE_EQ(Rates(options).back(), 1 / 25.0 / 1e4);
}

TEST(TrainerScheduleTest, EpochsOfARunThatStepsLimit) {
  TrainerOptions options = Options(ScheduleKind::kLinear, 1000);
  const std::vector<double> whole = Rates(Options(ScheduleKind::kLinear, 4));
  ASSERT_EQ(whole.size(), 4);
  EXPECT_DOUBLE_EQ(whole[0], kRate);
  EXPECT_DOUBLE_EQ(whole[3], kRate / 4);
  options.stop.max_steps = TrainToy(Options(ScheduleKind::kConstant, 4), NewRunDirectory())->steps;
  EXPECT_EQ(Rates(options), whole);
}

TEST(TrainerScheduleTest, RefusesARunOfUnknownLengthBeforeItStarts) {
  TrainerOptions options = Options(ScheduleKind::kCosine, -1);
  options.stop.max_time = absl::Hours(1);
  const std::string dir = NewRunDirectory();
  const absl::Status status = TrainToy(options, dir).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("cosine needs the length of the run"));
  EXPECT_FALSE(RunDirectory(dir).HoldsRun());
}

// Runs are also interrupted inside warm-up and cool-down.
TEST(TrainerScheduleTest, ResumingEqualsTheUninterruptedRun) {
  TrainerOptions options = Options(ScheduleKind::kMultistep, 6);
  options.schedule.milestones = {1, 3};
  options.schedule.warmup_epochs = 2;
  options.schedule.cooldown_epochs = 2;
  const std::string whole = NewRunDirectory(), parts = NewRunDirectory();
  ASSERT_TRUE(TrainToy(options, whole).ok());
  options.mode = RunMode::kResumeOrNew;
  options.on_step = [](const StepReport& report) { SetInterruptForTest(report.step % 2 == 0 ? SIGTERM : 0); };
  absl::Status status;
  int sessions = 0;
  do {
    status = TrainToy(options, parts).status();
    SetInterruptForTest(0);
  } while (absl::IsCancelled(status) && ++sessions < 100);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_GT(sessions, 6);
  EXPECT_EQ(FileBytes(RunDirectory(whole).checkpoint()), FileBytes(RunDirectory(parts).checkpoint()));
}

// A schedule that spans the run depends on its length, so the length must not change on resume.
TEST(TrainerScheduleTest, ResumingWithAnotherLengthIsRefused) {
  TrainerOptions options = Options(ScheduleKind::kConstant, 4);
  options.schedule.cooldown_epochs = 1;
  const std::string dir = NewRunDirectory();
  ASSERT_TRUE(TrainToy(options, dir).ok());
  options.mode = RunMode::kResume;
  options.stop.max_epochs = 5;
  EXPECT_THAT(std::string(TrainToy(options, dir).status().message()), HasSubstr("lr_cooldown_from_step"));
}

}  // namespace
}  // namespace rutile
