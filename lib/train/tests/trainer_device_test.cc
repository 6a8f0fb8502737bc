// Whole runs whose parameters and optimizer state stay on a device between steps, here the CPU: they give the results
// of runs that step on the host, whoever reads the parameters in between.

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/interrupt.h"
#include "lib/optimizer/averages/ema.h"
#include "lib/optimizer/optimizer.h"
#include "lib/optimizer/parameter_groups.h"
#include "lib/tensorfile/tensor_file.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/testing/toy_task.h"
#include "lib/train/files/run_directory.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/tests/trainer_testing.h"
#include "lib/train/trainer.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;
using ::testing::NanSensitiveDoubleNear;
using ::testing::Pointwise;

TrainerOptions OnDevice(TrainerOptions options) {
  options.device_steps_on_cpu = true;
  return options;
}

TrainerOptions Options(const char* optimizer) {
  TrainerOptions options = ToyOptions(3);
  options.optimizer = DefaultOptimizerOptions(optimizer).value();
  options.optimizer.learning_rate = 0.02;
  options.compile_mode = CompileMode::kNone;
  return options;
}

std::vector<TrainerOptions> Runs() {
  std::vector<TrainerOptions> runs = {
      Options("adam"), Options("adam"),    Options("adamw"),   Options("sgd"),
      Options("adam"), Options("rmsprop"), Options("adagrad"), Options("schedule-free-adamw"),
  };
  runs[1].optimizer.amsgrad = true;
  runs[1].ema.emplace().start_step = 3;
  runs[1].ema->update_every_n_steps = 2;
  runs[1].accumulate_grad_batches = 3;
  runs[2].gradient_clip_val = 0.5;
  runs[2].ema.emplace();
  runs[2].schedule.warmup_steps = 7;
  runs[3].optimizer.momentum = 0.9;
  runs[3].gradient_clip_val = 0.1;
  runs[3].gradient_clip_algorithm = GradientClip::kValue;
  runs[4].groups.groups = ParseParameterGroups("bias:optimizer=sgd,learning_rate=0.05", runs[4].optimizer).value();
  runs[4].optimizer.weight_decay = 0.1;
  runs[4].groups.decay_biases = false;
  runs[5].average_best = 2;
  for (TrainerOptions& run : runs) {
    run.validation.every_steps = 4;  // also in the middle of epochs
    run.keep_every_steps = 5;
    run.save_interval = absl::Seconds(100);
  }
  return runs;
}

void ExpectSameNumbers(const std::string& actual, const std::string& expected) {
  const TensorFile a = ReadTensorFile(actual).value(), e = ReadTensorFile(expected).value();
  ASSERT_EQ(a.tensors.size(), e.tensors.size()) << actual;
  for (const auto& [name, tensor] : e.tensors) {
    // Kernels fuse multiplications with additions, and LibTorch does not: rounding that steps add up.
    EXPECT_THAT(a.tensors.At(name).ToDoubles(), Pointwise(NanSensitiveDoubleNear(1e-11), tensor.ToDoubles()))
        << actual << " " << name;
  }
}

TEST(TrainerDeviceTest, ResultsAndFilesAreThoseOfTheHost) {
  for (const TrainerOptions& run : Runs()) {
    const std::string host = NewRunDirectory(), device = NewRunDirectory();
    const absl::StatusOr<TrainResult> expected = TrainNoisyToy(run, host);
    const absl::StatusOr<TrainResult> actual = TrainNoisyToy(OnDevice(run), device);
    ASSERT_TRUE(expected.ok()) << expected.status();
    ASSERT_TRUE(actual.ok()) << actual.status();
    EXPECT_EQ(actual->steps, expected->steps);
    EXPECT_EQ(actual->best_step, expected->best_step);
    EXPECT_NEAR(actual->best_loss, expected->best_loss, 1e-11);
    EXPECT_NEAR(actual->train_loss, expected->train_loss, 1e-11);
    const std::vector<std::string> names = CheckpointNames(host);
    EXPECT_EQ(CheckpointNames(device), names);
    EXPECT_GT(names.size(), run.accumulate_grad_batches > 1 ? 1u : 4u);
    std::vector<std::string> files = {"/best.safetensors", "/last.safetensors"};
    for (const std::string& name : names) files.push_back("/checkpoints/" + name);
    for (const std::string& file : files) ExpectSameNumbers(device + file, host + file);
  }
}

TEST(TrainerDeviceTest, ResumingEqualsTheUninterruptedRun) {
  for (TrainerOptions run : Runs()) {
    run.device_steps_on_cpu = true;
    run.keep_every_steps = 0;
    const std::string whole = NewRunDirectory(), parts = NewRunDirectory();
    ASSERT_TRUE(TrainNoisyToy(run, whole).ok());
    run.mode = RunMode::kResumeOrNew;
    for (const int64_t steps : {1, 5, 9, 17, 1000}) {
      run.stop.max_steps = steps;
      const absl::StatusOr<TrainResult> result = TrainNoisyToy(run, parts);
      ASSERT_TRUE(result.ok()) << result.status();
    }
    EXPECT_EQ(FileBytes(whole + "/best.safetensors"), FileBytes(parts + "/best.safetensors"));
    EXPECT_EQ(FileBytes(whole + "/checkpoints/last.safetensors"), FileBytes(parts + "/checkpoints/last.safetensors"));
  }
}

TEST(TrainerDeviceTest, HostAndDeviceResumeEachOther) {
  TrainerOptions run = Options("adam");
  run.ema.emplace();
  const std::string whole = NewRunDirectory(), parts = NewRunDirectory();
  ASSERT_TRUE(TrainNoisyToy(run, whole).ok());
  run.mode = RunMode::kResumeOrNew;
  for (const int64_t steps : {3, 8, 12, 1000}) {
    run.device_steps_on_cpu = !run.device_steps_on_cpu;
    run.stop.max_steps = steps;
    const absl::StatusOr<TrainResult> result = TrainNoisyToy(run, parts);
    ASSERT_TRUE(result.ok()) << result.status();
  }
  ExpectSameNumbers(parts + "/checkpoints/last.safetensors", whole + "/checkpoints/last.safetensors");
}

TEST(TrainerDeviceTest, ASignalWritesWhatIsOnTheDevice) {
  TrainerOptions run = OnDevice(Options("adam"));
  run.ema.emplace();
  const std::string whole = NewRunDirectory(), cut = NewRunDirectory();
  ASSERT_TRUE(TrainNoisyToy(run, whole).ok());
  run.on_step = [](const StepReport& report) {
    if (report.step == 9) SetInterruptForTest(SIGTERM);
  };
  EXPECT_EQ(TrainNoisyToy(run, cut).status().code(), absl::StatusCode::kCancelled);
  SetInterruptForTest(0);
  EXPECT_EQ(LastCheckpoint(cut).step, 9);
  run.on_step = nullptr;
  run.mode = RunMode::kResume;
  ASSERT_TRUE(TrainNoisyToy(run, cut).ok());
  EXPECT_EQ(FileBytes(whole + "/checkpoints/last.safetensors"), FileBytes(cut + "/checkpoints/last.safetensors"));
}

// The failed batch comes with the parameters that it met.
TEST(TrainerDeviceTest, NotFiniteNamesTheBatch) {
  ToyTaskOptions toy = NoisyToy();
  toy.nan_example = ToySplit(ToyTask(toy)).train[17];
  TrainerOptions run = Options("adam");
  run.shuffle = false;
  const std::string host = NewRunDirectory(), device = NewRunDirectory();
  const absl::Status expected = TrainToyTask(toy, run, host).status();
  const absl::Status actual = TrainToyTask(toy, OnDevice(run), device).status();
  EXPECT_EQ(actual.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(actual.message()), HasSubstr("epoch 1, step 4"));
  EXPECT_EQ(actual.message(), expected.message());
  ExpectSameNumbers(RunDirectory(device).failed_batch(), RunDirectory(host).failed_batch());
}

}  // namespace
}  // namespace rutile
