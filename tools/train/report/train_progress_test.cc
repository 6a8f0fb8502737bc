#include "tools/train/report/train_progress.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <string>
#include <thread>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/train/options/stop_rule.h"
#include "lib/train/options/trainer_options.h"

namespace rutile {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

TrainState State() {
  TrainState state;
  state.step = {12, 4000, 340, 1200, 0.0123, 1e-3, 2.5, 1e6};
  state.max_epochs = 100;
  state.validation_loss = 0.0145;
  state.cost_per_s = 491000;
  state.done = 0.1128;
  state.seconds_left = 205;
  return state;
}

TEST(FormatTrainProgressTest, TheWholeLine) {
  EXPECT_EQ(
      FormatTrainProgress({"train", "atoms", {}}, State(), 200),
      "train  epoch 12/100  11 %  [##                       ]  loss 0.0123  val 0.0145  lr 0.001  491000 atoms/s  "
      "3:25 left");
}

TEST(FormatTrainProgressTest, ShowsWhatIsKnown) {
  TrainState state = State();
  state.long_epoch = true;
  state.may_stop_early = true;
  EXPECT_EQ(FormatTrainProgress({"member-01", "atoms", {}}, state, 110),
            "member-01  epoch 12/100 (340/1200)  11 %  loss 0.0123  val 0.0145  lr 0.001  491000 atoms/s  "
            "at most 3:25 left");
  state = TrainState();
  state.step = State().step;
  state.done = -1;
  EXPECT_EQ(FormatTrainProgress({"train", "atoms", {}}, state, 200), "train  epoch 12  loss 0.0123  lr 0.001");
  state.cost_per_s = 1.25;
  EXPECT_THAT(FormatTrainProgress({"train", "atoms", {}}, state, 200), EndsWith("  1.25 atoms/s"));
}

TEST(FormatTrainProgressTest, ShowsTheMetricThatChoosesTheModel) {
  const TrainProgressTexts texts = {"train", "queries", {"val_mrr", true}};
  TrainState state = State();
  EXPECT_THAT(FormatTrainProgress(texts, state, 200), HasSubstr("  val 0.0145  lr 0.001")) << "not known yet";
  state.monitored = 0.34567;
  EXPECT_THAT(FormatTrainProgress(texts, state, 200), HasSubstr("  val 0.0145  mrr 0.3457  lr 0.001"));
  state.best = 0.361;
  state.best_epoch = 9;
  EXPECT_THAT(FormatTrainProgress(texts, state, 200), HasSubstr("  mrr 0.3457 (best 0.361, epoch 9)  lr 0.001"));
  EXPECT_THAT(FormatTrainProgress(texts, state, 110), HasSubstr("  mrr 0.3457  lr 0.001")) << "the best goes first";
  EXPECT_THAT(FormatTrainProgress({"train", "queries", {"val_loss", false}}, state, 200),
              HasSubstr("  val 0.0145  lr 0.001"));
  for (int width = 0; width < 160; ++width) {
    EXPECT_LE(static_cast<int>(FormatTrainProgress(texts, state, width).size()), width);
  }
}

TEST(FormatTrainProgressTest, FitsTheWidth) {
  const std::string whole = FormatTrainProgress({"train", "atoms", {}}, State(), 200);
  for (int width = -1; width < 130; ++width) {
    const std::string line = FormatTrainProgress({"train", "atoms", {}}, State(), width);
    EXPECT_LE(static_cast<int>(line.size()), std::max(width, 0));
    if (width > 100) {
      EXPECT_THAT(line, EndsWith("3:25 left")) << width;
    }
    if (width > 20) {
      EXPECT_THAT(line, StartsWith("train"));
    }
  }
  EXPECT_THAT(FormatTrainProgress({"train", "atoms", {}}, State(), 90), Not(HasSubstr("["))) << "the bar goes first";
  EXPECT_EQ(FormatTrainProgress({"train", "atoms", {}}, State(), 79),
            "train epoch 12/100 11% loss 0.0123 val 0.0145 lr 0.001 491000 atoms/s 3:25 left");
  EXPECT_EQ(FormatTrainProgress({"train", "atoms", {}}, State(), 75),
            "train epoch 12/100 11% loss 0.0123 val 0.0145 491000 atoms/s 3:25 left");
}

StepReport Step(int64_t step) {
  StepReport report;
  report.epoch = 1 + (step - 1) / 10;
  report.step = step;
  report.batch = 1 + (step - 1) % 10;
  report.num_batches = 10;
  report.loss = 0.5;
  report.learning_rate = 0.01;
  report.cost = 100.0 * static_cast<double>(report.batch);
  return report;
}

// Returns the terminal output while 20 of 40 steps are done in 20 ms each.
std::string Drawn(const StopOptions& limits, bool enabled) {
  ::setenv("TERM", "xterm", 1);
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0 || ::grantpt(master) != 0 || ::unlockpt(master) != 0) return "no pseudoterminal";
  const int slave = ::open(::ptsname(master), O_RDWR | O_NOCTTY), saved = ::dup(STDERR_FILENO);
  ::dup2(slave, STDERR_FILENO);
  {
    TrainProgress progress({"train", "atoms", {}}, limits, enabled);
    EXPECT_EQ(progress.active(), enabled);
    EpochReport epoch;
    epoch.validation_loss = 0.25;
    epoch.cost_per_s = 5000;
    for (int64_t step = 1; step <= 20; ++step) {
      progress.OnStep(Step(step));
      if (step % 10 == 0) progress.OnEpoch(epoch);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    progress.Finish();
    progress.OnStep(Step(21));
  }
  ::dup2(saved, STDERR_FILENO);
  ::close(saved);
  ::close(slave);
  std::string output;
  char buffer[4096];
  for (ssize_t size; (size = ::read(master, buffer, sizeof(buffer))) > 0;) output.append(buffer, size);
  ::close(master);
  return output;
}

TEST(TrainProgressTest, DrawsTenTimesASecondAtMost) {
  StopOptions limits;
  limits.max_epochs = 4;
  const auto start = std::chrono::steady_clock::now();
  const std::string output = Drawn(limits, true);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_LE(std::count(output.begin(), output.end(), '\r'), 10 * seconds + 3) << output;
  EXPECT_THAT(output, HasSubstr("train  epoch 2/4  50 %"));
  EXPECT_THAT(output, HasSubstr("loss 0.5  val 0.25  lr 0.01  5000 atoms/s  0:0"));
  EXPECT_THAT(output, EndsWith("left\x1b[K\r\n"));
  EXPECT_THAT(output, Not(HasSubstr("epoch 3")));
  EXPECT_THAT(Drawn(limits, false), IsEmpty());
}

TEST(TrainProgressTest, TheNearestLimitCounts) {
  StopOptions limits;
  limits.max_epochs = 1000;
  limits.max_steps = 25;
  EXPECT_THAT(Drawn(limits, true), HasSubstr("  80 %"));
  limits.max_steps = -1;
  limits.max_epochs = 1000;
  limits.max_time = absl::Hours(30);
  EXPECT_THAT(Drawn(limits, true), HasSubstr("epoch 2/1000  0 %"));
}

TEST(TrainTrackerTest, KeepsTheLastAndTheBestMonitoredValue) {
  TrainTracker tracker(StopOptions{}, TrainTracker::Clock::time_point{});
  EpochReport report;
  report.epoch = 1;
  tracker.OnEpoch(report);
  EXPECT_TRUE(std::isnan(tracker.state().monitored)) << "an epoch without validation";
  report.monitored = 0.5;
  report.best = true;
  tracker.OnEpoch(report);
  report.epoch = 2;
  report.monitored = 0.25;
  report.best = false;
  tracker.OnEpoch(report);
  EXPECT_EQ(tracker.state().monitored, 0.25);
  EXPECT_EQ(tracker.state().best, 0.5);
  EXPECT_EQ(tracker.state().best_epoch, 1);
}

TEST(TrainProgressTest, SilentWithoutATerminal) {
  const int saved = ::dup(STDERR_FILENO), file = ::open("/dev/null", O_WRONLY);
  ::dup2(file, STDERR_FILENO);
  const bool active = TrainProgress({"train", "atoms", {}}, StopOptions(), true).active();
  ::dup2(saved, STDERR_FILENO);
  ::close(saved);
  ::close(file);
  EXPECT_FALSE(active);
}

}  // namespace
}  // namespace rutile
