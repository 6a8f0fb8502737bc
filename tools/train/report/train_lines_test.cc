#include "tools/train/report/train_lines.h"

#include <chrono>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/train/options/trainer_options.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// A run of 20 epochs with 10 steps each, on a clock of its own.
class TrainLinesTest : public ::testing::Test {
 protected:
  TrainLinesTest() {
    options_.cost_unit = "atoms";
    options_.loss_unit = "eV/atom";
    options_.limits.max_epochs = 20;
  }

  // Trains an epoch whose steps take `seconds` each, and validates.
  void Epoch(TrainLines* lines, int seconds, double value, bool best) {
    ++epoch_;
    for (int batch = 1; batch <= 10; ++batch) {
      now_ += std::chrono::seconds(seconds);
      StepReport step;
      step.epoch = epoch_;
      step.step = 10 * (epoch_ - 1) + batch;
      step.batch = batch;
      step.num_batches = 10;
      step.loss = 0.5;
      step.learning_rate = 0.01;
      step.cost = 100.0 * batch;
      lines->OnStep(step, now_);
    }
    EpochReport report;
    report.epoch = epoch_;
    report.validated = true;
    report.train_loss = 0.25;
    report.validation_loss = report.monitored = value;
    report.validation = {{"energy_rmse", "meV/atom", 12.345}, {"energy_mae", "meV/atom", 10}};
    report.best = best;
    report.cost_per_s = 1000;
    lines->OnEpoch(report, now_);
  }

  TrainLines Lines() {
    return TrainLines(
        options_, [this](absl::string_view line) { printed_.emplace_back(line); }, now_);
  }

  TrainLinesOptions options_;
  TrainLines::Clock::time_point now_;
  int64_t epoch_ = 0;
  std::vector<std::string> printed_;
};

TEST_F(TrainLinesTest, ALineWhenTheIntervalHasPassed) {
  TrainLines lines = Lines();
  Epoch(&lines, 1, 0.5, /*best=*/false);
  Epoch(&lines, 1, 0.5, /*best=*/false);
  EXPECT_THAT(printed_, IsEmpty());
  Epoch(&lines, 1, 0.5, /*best=*/false);  // the 30th second is its last step
  EXPECT_THAT(printed_, ElementsAre("epoch 3/20, 15 %: loss 0.25 eV/atom, val_loss 0.5 eV/atom, energy_rmse 12.3 "
                                    "meV/atom, lr 0.01, 100 atoms/s, 2:50 left"));
  Epoch(&lines, 4, 0.5, /*best=*/false);
  ASSERT_THAT(printed_, SizeIs(2));
  EXPECT_THAT(printed_[1], HasSubstr("epoch 4/20, batch 8/10, 19 %: ")) << "inside a long epoch";
}

TEST_F(TrainLinesTest, ALineForAnImprovementThatMatters) {
  options_.label = "member-01 (2 of 3)";
  TrainLines member = Lines();
  Epoch(&member, 1, 0.5, /*best=*/true);
  EXPECT_THAT(printed_, ElementsAre(EndsWith(" left, best so far")));
  EXPECT_THAT(printed_[0], HasSubstr("member-01 (2 of 3): epoch 1/20, 5 %: "));
  Epoch(&member, 1, 0.46, /*best=*/true);
  EXPECT_THAT(printed_, SizeIs(1)) << "less than a tenth better";
  Epoch(&member, 0, 0.1, /*best=*/true);
  EXPECT_THAT(printed_, SizeIs(2)) << "10 s after the last line";
  Epoch(&member, 0, 0.01, /*best=*/true);
  EXPECT_THAT(printed_, SizeIs(2)) << "at once after the last line";
}

TEST_F(TrainLinesTest, ALineForEachReport) {
  options_.every_report = true;
  TrainLines lines = Lines();
  Epoch(&lines, 0, 0.5, /*best=*/true);
  Epoch(&lines, 0, 0.6, /*best=*/false);
  ASSERT_THAT(printed_, SizeIs(2));
  EXPECT_THAT(printed_[0], EndsWith("best so far"));
  EXPECT_THAT(printed_[1], Not(EndsWith("best so far")));
}

TEST_F(TrainLinesTest, NamesTheMetricThatChoosesTheModel) {
  options_.every_report = true;
  options_.monitored = {"val_mrr", true};
  TrainLines lines = Lines();
  Epoch(&lines, 0, 0.5, /*best=*/true);
  Epoch(&lines, 0, 0.4, /*best=*/false);
  ASSERT_THAT(printed_, SizeIs(2));
  EXPECT_THAT(printed_[0], EndsWith(", best val_mrr so far"));
  EXPECT_THAT(printed_[1], EndsWith(", best val_mrr 0.5 in epoch 1"));
}

TEST_F(TrainLinesTest, NoIntervalNoLines) {
  options_.interval = absl::ZeroDuration();
  TrainLines lines = Lines();
  Epoch(&lines, 100, 0.5, /*best=*/true);
  EXPECT_THAT(printed_, IsEmpty());
}

}  // namespace
}  // namespace rutile
