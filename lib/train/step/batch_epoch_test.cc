// Tests the part of fp16 training that only the epoch decides: a step whose gradient overflowed is skipped and not
// counted. The rest is tested through the trainer: trainer_epochs_test.cc, trainer_test.cc.

#include "lib/train/step/batch_epoch.h"

#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/distributed/agreement.h"
#include "lib/optimizer/schedule/schedule.h"
#include "lib/task/eager_options.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/testing/half_task.h"
#include "lib/testing/toy_task.h"
#include "lib/train/files/checkpoint.h"
#include "lib/train/options/split.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/run_plan.h"
#include "lib/train/starting_state.h"
#include "lib/train/step/epoch_trainer.h"

namespace rutile {
namespace {

using ::testing::DoubleNear;
using ::testing::Pointwise;

// Trains on 40 examples in batches of 4 with Adam, whose state would reveal a step too many.
struct EpochOfHalf {
  explicit EpochOfHalf(Precision mixed) : schedule({}, 0.01) {
    split.train.resize(task.num_examples());
    std::iota(split.train.begin(), split.train.end(), 0);
    options.batch_size = 4;
    options.compile_mode = CompileMode::kNone;
    options.eager.precision = mixed;
    state = NewState(task, MakeRunPlan(split, options).value());
    epoch = std::make_unique<BatchEpoch>(Context());
  }
  EpochContext Context() {
    return {task,
            split.train,
            options,
            schedule,
            10,
            state,
            /*ema=*/nullptr,
            agreement,
            [this] { return state.batch == pause_at; },
            /*on_failed=*/nullptr};
  }

  HalfTask task{ToyTaskOptions{}};
  Split split;
  TrainerOptions options;
  Schedule schedule;
  Checkpoint state;
  Agreement agreement{nullptr};
  int64_t pause_at = 10;
  std::unique_ptr<BatchEpoch> epoch;
};

TEST(BatchEpochFp16Test, AStepThatOverflowedLeavesNoTrace) {
  EpochWork work;
  EpochOfHalf half(Precision::kFp16Mixed);
  ASSERT_EQ(half.epoch->Train(&work), absl::OkStatus());
  EXPECT_EQ(half.state.batch, 10);
  EXPECT_EQ(half.state.step, 9);  // the first was at scale 65536
  EXPECT_EQ(half.state.epoch_sums.count[0], 40);
  EXPECT_EQ(half.epoch->State().At("grad_scaler").ToDoubles()[0], 32768);
  EXPECT_EQ(half.epoch->State().At("grad_scaler").ToDoubles()[1], 9);

  EpochOfHalf plain(Precision::kAuto);
  plain.state.batch = 1;  // never sees that batch
  ASSERT_EQ(plain.epoch->Train(&work), absl::OkStatus());
  EXPECT_EQ(plain.state.step, 9);
  EXPECT_EQ(half.state.parameters.ToDoubles(), plain.state.parameters.ToDoubles());
  EXPECT_EQ(plain.epoch->State().Find("grad_scaler"), nullptr);
}

// What the host has stays as it was, so the steps were taken on the device.
TEST(BatchEpochDeviceTest, ParametersComeWithAllGather) {
  EpochWork work;
  for (const Precision precision : {Precision::kAuto, Precision::kFp16Mixed}) {
    EpochOfHalf host(precision), device(precision);
    ASSERT_EQ(host.epoch->Train(&work), absl::OkStatus());
    device.options.device_steps_on_cpu = true;
    device.epoch = std::make_unique<BatchEpoch>(device.Context());
    const std::vector<double> start = device.state.parameters.ToDoubles();
    ASSERT_EQ(device.epoch->Train(&work), absl::OkStatus());
    EXPECT_EQ(device.state.parameters.ToDoubles(), start);
    EXPECT_EQ(device.state.step, host.state.step);  // that of an overflow is not counted
    ASSERT_EQ(device.epoch->AllGather(), absl::OkStatus());
    EXPECT_THAT(device.state.parameters.ToDoubles(), Pointwise(DoubleNear(1e-12), host.state.parameters.ToDoubles()));
    const NamedTensors state = device.epoch->State();
    for (const auto& [name, tensor] : host.epoch->State()) {
      EXPECT_THAT(state.At(name).ToDoubles(), Pointwise(DoubleNear(1e-12), tensor.ToDoubles())) << name;
    }
  }
}

TEST(BatchEpochFp16Test, GoesOnFromItsState) {
  EpochWork work;
  EpochOfHalf whole(Precision::kFp16Mixed);
  ASSERT_EQ(whole.epoch->Train(&work), absl::OkStatus());

  EpochOfHalf parts(Precision::kFp16Mixed);
  parts.pause_at = 4;
  ASSERT_EQ(parts.epoch->Train(&work), absl::OkStatus());
  EXPECT_EQ(parts.state.batch, 4);
  parts.epoch->Suspend();
  const NamedTensors state = parts.epoch->State();
  parts.epoch = std::make_unique<BatchEpoch>(parts.Context());
  ASSERT_EQ(parts.epoch->SetState(state), absl::OkStatus());
  parts.pause_at = 10;
  ASSERT_EQ(parts.epoch->Train(&work), absl::OkStatus());
  EXPECT_EQ(parts.state.step, whole.state.step);
  EXPECT_EQ(parts.state.parameters.ToDoubles(), whole.state.parameters.ToDoubles());
  EXPECT_EQ(parts.epoch->State().At("grad_scaler").ToDoubles(), whole.epoch->State().At("grad_scaler").ToDoubles());
}

TEST(BatchEpochFp16Test, AScaleThatNeverHelpsIsAnError) {
  EpochOfHalf run(Precision::kFp16Mixed);
  run.task.broken = true;
  EpochWork work;
  absl::Status status;
  for (int epoch = 0; epoch < 4 && status.ok(); ++epoch) {
    run.state.batch = 0;
    status = run.epoch->Train(&work);
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(run.state.step, 0);
}

}  // namespace
}  // namespace rutile
