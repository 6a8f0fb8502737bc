#include "lib/train/checkpointed_state.h"

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/optimizer/averages/average_best.h"
#include "lib/optimizer/averages/ema.h"
#include "lib/optimizer/schedule/schedule.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/testing/toy_task.h"
#include "lib/train/options/stop_rule.h"
#include "lib/train/options/top_checkpoints.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Remembers one number, as an optimizer would.
class Epoch : public EpochTrainer {
 public:
  absl::Status Train(EpochWork* work) override { return absl::OkStatus(); }
  void Suspend() override {}
  const Tensor& EvaluationParameters() const override { return value; }
  NamedTensors State() const override {
    NamedTensors state;
    state.Set("value", value);
    return state;
  }
  absl::Status SetState(const NamedTensors& state) override {
    if (!state.Has("value")) return absl::InvalidArgumentError("no tensor \"value\"");
    value = state.At("value");
    return absl::OkStatus();
  }
  void Reopen() override { reconsidered = true; }
  Tensor value = Tensor::Of<double>({0});
  bool reconsidered = false;
};

struct ToyRun {
  ToyRun() {
    schedule_options.kind = ScheduleKind::kPlateau;
    schedule_options.patience = 0;
    schedule.emplace(schedule_options, 1);
  }
  CheckpointedState Parts() { return {task, epoch, *schedule, stop, top, /*keeps_top=*/true, &ema, &average}; }

  ToyTask task{ToyTaskOptions()};
  Epoch epoch;
  ScheduleOptions schedule_options;
  std::optional<Schedule> schedule;
  StopRule stop{StopOptions(), /*maximize=*/false};
  TopCheckpoints top{2, /*maximize=*/false};
  Ema ema{EmaOptions(), DType::kF64, 4, -1};
  AverageBest average{2, /*maximize=*/false, DType::kF64, 4};
};

class CheckpointedStateTest : public ::testing::Test {
 protected:
  CheckpointedStateTest() {
    start_.path = "a.safetensors";
    const Tensor parameters = Tensor::Of<double>({1, 2, 3, 4});
    from_.epoch.value = Tensor::Of<double>({7});
    from_.ema.Update(parameters, 1);
    from_.average.Observe(0.5, 1, 10, parameters);
    from_.top.Observe(0.5, 1, 10);
    for (const double loss : {1.0, 2.0}) {
      from_.schedule->Observe(loss);
      from_.stop.Observe(loss);
    }
    SaveStates(from_.Parts(), &state_);
  }

  ToyRun from_, to_;
  StartingState start_;
  Checkpoint state_;
};

TEST_F(CheckpointedStateTest, RoundTrip) {
  ASSERT_EQ(RestoreStates(to_.Parts(), start_, state_), absl::OkStatus());
  EXPECT_EQ(to_.epoch.value.ToDoubles()[0], 7);
  EXPECT_LT(to_.schedule->LearningRate(0, 0), 1);
  EXPECT_EQ(to_.schedule->LearningRate(0, 0), from_.schedule->LearningRate(0, 0));
  EXPECT_EQ(to_.ema.parameters()->ToDoubles(), from_.ema.parameters()->ToDoubles());
  EXPECT_EQ(to_.average.Mean().ToDoubles(), from_.average.Mean().ToDoubles());
  EXPECT_EQ(to_.top.kept().size(), 1u);
  EXPECT_FALSE(to_.epoch.reconsidered);
  start_.new_parts.finished = true;
  ASSERT_EQ(RestoreStates(to_.Parts(), start_, state_), absl::OkStatus());
  EXPECT_TRUE(to_.epoch.reconsidered);
}

TEST_F(CheckpointedStateTest, ANewRunSetsNothing) {
  start_.path = "";
  ASSERT_EQ(RestoreStates(to_.Parts(), start_, Checkpoint()), absl::OkStatus());
  EXPECT_EQ(to_.epoch.value.ToDoubles()[0], 0);
  EXPECT_EQ(to_.ema.parameters(), nullptr);
}

TEST_F(CheckpointedStateTest, WhatBeginsAnewIsLeftAlone) {
  start_.new_parts.optimizer = start_.new_parts.ema = start_.new_parts.judgment = true;
  state_.top = NamedTensors();
  ASSERT_EQ(RestoreStates(to_.Parts(), start_, state_), absl::OkStatus());
  EXPECT_EQ(to_.epoch.value.ToDoubles()[0], 0);
  EXPECT_EQ(to_.ema.parameters(), nullptr);
  EXPECT_EQ(to_.average.size(), 0);
  start_.new_parts.schedule = true;
  ToyRun of_another_schedule;
  ASSERT_EQ(RestoreStates(of_another_schedule.Parts(), start_, state_), absl::OkStatus());
  EXPECT_EQ(of_another_schedule.schedule->LearningRate(0, 0), 1);
}

// Other data change the losses, and with them the best one, but not the rate that plateau has come down to.
TEST_F(CheckpointedStateTest, PlateauKeepsItsRateWhereLossesAreOthers) {
  const double rate = from_.schedule->LearningRate(0, 0);
  ASSERT_LT(rate, 1);
  start_.new_parts.judgment = true;
  state_.top = NamedTensors();
  ASSERT_EQ(RestoreStates(to_.Parts(), start_, state_), absl::OkStatus());
  EXPECT_EQ(to_.schedule->LearningRate(0, 0), rate);
  const std::vector<double> memory = to_.schedule->State().At("plateau").ToDoubles();
  EXPECT_THAT(memory, ElementsAre(rate, std::numeric_limits<double>::infinity(), 0, 0));
  to_.schedule->Observe(100);  // the first loss is the best so far, however high
  EXPECT_EQ(to_.schedule->LearningRate(0, 0), rate);
}

TEST_F(CheckpointedStateTest, ErrorsNameFileAndPart) {
  state_.optimizer = NamedTensors();
  EXPECT_EQ(RestoreStates(to_.Parts(), start_, state_).message(), "a.safetensors: optimizer: no tensor \"value\"");
  start_.new_parts.optimizer = true;
  state_.schedule = NamedTensors();
  EXPECT_THAT(std::string(RestoreStates(to_.Parts(), start_, state_).message()),
              HasSubstr("a.safetensors: schedule: "));
}

}  // namespace
}  // namespace rutile
