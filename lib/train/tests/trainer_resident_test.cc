// Whole runs of a task whose own kernels leave gradients on a device, here the host: parameters, the optimizer's state
// and the average stay there between steps, and the runs are those of the same task without a device.

#include <csignal>
#include <cstdint>
#include <memory>
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
#include "lib/task/parameter_slice.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_file.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/testing/error_names.h"
#include "lib/testing/toy_task.h"
#include "lib/train/files/checkpoint.h"
#include "lib/train/files/run_directory.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/step/resident_toy_testing.h"
#include "lib/train/tests/trainer_testing.h"
#include "lib/train/trainer.h"

namespace rutile {
namespace {

using ::testing::NanSensitiveDoubleNear;
using ::testing::Pointwise;

ToyTaskOptions Toy() {
  ToyTaskOptions toy = NoisyToy();
  toy.root = false;
  return toy;
}

absl::StatusOr<TrainResult> TrainOn(ResidentToy* task, const TrainerOptions& options, const std::string& directory) {
  return Train(*task, ToySplit(*task), options, directory, {});
}

// Runs on a device, and checks that all gradients stayed there.
absl::StatusOr<TrainResult> OnDevice(const TrainerOptions& options, const std::string& directory) {
  ResidentToy task(Toy(), true);
  const absl::StatusOr<TrainResult> result = TrainOn(&task, options, directory);
  EXPECT_GT(task.on_device, 0);
  EXPECT_EQ(task.on_host, 0);
  return result;
}

absl::StatusOr<TrainResult> OnHost(const TrainerOptions& options, const std::string& directory) {
  ResidentToy task(Toy(), false);
  return TrainOn(&task, options, directory);
}

TrainerOptions Options(const char* optimizer) {
  TrainerOptions options = ToyOptions(3);
  options.optimizer = DefaultOptimizerOptions(optimizer).value();
  options.optimizer.learning_rate = 0.02;
  options.check_gradient = false;  // its reference has the toy's two terms
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
    // The weight of the loss is multiplied in another place, and norms are added up in another order.
    EXPECT_THAT(a.tensors.At(name).ToDoubles(), Pointwise(NanSensitiveDoubleNear(1e-11), tensor.ToDoubles()))
        << actual << " " << name;
  }
}

TEST(TrainerResidentTest, ResultsAndFilesAreThoseOfTheHost) {
  for (const TrainerOptions& run : Runs()) {
    const std::string host = NewRunDirectory(), device = NewRunDirectory();
    const absl::StatusOr<TrainResult> expected = OnHost(run, host);
    const absl::StatusOr<TrainResult> actual = OnDevice(run, device);
    ASSERT_TRUE(expected.ok()) << expected.status();
    ASSERT_TRUE(actual.ok()) << actual.status();
    EXPECT_EQ(actual->steps, expected->steps);
    EXPECT_EQ(actual->best_step, expected->best_step);
    EXPECT_NEAR(actual->best_loss, expected->best_loss, 1e-11);
    EXPECT_NEAR(actual->train_loss, expected->train_loss, 1e-11);
    const std::vector<std::string> names = CheckpointNames(host);
    EXPECT_EQ(CheckpointNames(device), names);
    std::vector<std::string> files = {"/best.safetensors", "/last.safetensors"};
    for (const std::string& name : names) files.push_back("/checkpoints/" + name);
    for (const std::string& file : files) ExpectSameNumbers(device + file, host + file);
  }
}

// What the log says of each step: loss, rate and the gradient's norm.
TEST(TrainerResidentTest, ReportsAreThoseOfTheHost) {
  TrainerOptions run = Options("adam");
  run.gradient_clip_val = 0.5;
  run.accumulate_grad_batches = 2;
  std::vector<std::vector<double>> reports[2];
  for (const int device : {0, 1}) {
    run.on_step = [&](const StepReport& report) {
      reports[device].push_back(
          {static_cast<double>(report.step), report.loss, report.learning_rate, report.gradient_norm, report.cost});
    };
    ASSERT_TRUE((device == 1 ? OnDevice(run, NewRunDirectory()) : OnHost(run, NewRunDirectory())).ok());
  }
  ASSERT_EQ(reports[0].size(), 12u);
  ASSERT_EQ(reports[1].size(), 12u);
  for (size_t s = 0; s < 12; ++s) {
    EXPECT_THAT(reports[1][s], Pointwise(NanSensitiveDoubleNear(1e-11), reports[0][s]));
  }
}

TEST(TrainerResidentTest, ResumingEqualsTheUninterruptedRun) {
  for (TrainerOptions run : Runs()) {
    run.keep_every_steps = 0;
    const std::string whole = NewRunDirectory(), parts = NewRunDirectory();
    ASSERT_TRUE(OnDevice(run, whole).ok());
    run.mode = RunMode::kResumeOrNew;
    for (const int64_t steps : {1, 5, 9, 17, 1000}) {
      run.stop.max_steps = steps;
      const absl::StatusOr<TrainResult> result = TrainOn(std::make_unique<ResidentToy>(Toy(), true).get(), run, parts);
      ASSERT_TRUE(result.ok()) << result.status();
    }
    EXPECT_EQ(FileBytes(whole + "/best.safetensors"), FileBytes(parts + "/best.safetensors"));
    EXPECT_EQ(FileBytes(whole + "/checkpoints/last.safetensors"), FileBytes(parts + "/checkpoints/last.safetensors"));
  }
}

TEST(TrainerResidentTest, HostAndDeviceResumeEachOther) {
  TrainerOptions run = Options("adam");
  run.ema.emplace();
  const std::string whole = NewRunDirectory(), parts = NewRunDirectory();
  ASSERT_TRUE(OnHost(run, whole).ok());
  run.mode = RunMode::kResumeOrNew;
  bool device = false;
  for (const int64_t steps : {3, 8, 12, 1000}) {
    device = !device;
    run.stop.max_steps = steps;
    const absl::StatusOr<TrainResult> result = device ? OnDevice(run, parts) : OnHost(run, parts);
    ASSERT_TRUE(result.ok()) << result.status();
  }
  ExpectSameNumbers(parts + "/checkpoints/last.safetensors", whole + "/checkpoints/last.safetensors");
}

// Two runs of one task, the second of which finds the device as the first has left it.
TEST(TrainerResidentTest, RunsOfOneTaskDoNotMeet) {
  const TrainerOptions run = Options("adam");
  ResidentToy task(Toy(), true);
  const std::string first = NewRunDirectory(), second = NewRunDirectory();
  ASSERT_TRUE(TrainOn(&task, run, first).ok());
  ASSERT_TRUE(TrainOn(&task, run, second).ok());
  EXPECT_EQ(FileBytes(first + "/checkpoints/last.safetensors"), FileBytes(second + "/checkpoints/last.safetensors"));
}

TEST(TrainerResidentTest, ASignalWritesWhatIsOnTheDevice) {
  TrainerOptions run = Options("adam");
  run.ema.emplace();
  const std::string whole = NewRunDirectory(), cut = NewRunDirectory();
  ASSERT_TRUE(OnDevice(run, whole).ok());
  run.on_step = [](const StepReport& report) {
    if (report.step == 9) SetInterruptForTest(SIGTERM);
  };
  EXPECT_EQ(OnDevice(run, cut).status().code(), absl::StatusCode::kCancelled);
  SetInterruptForTest(0);
  const std::vector<ParameterSlice> slices = ResidentToy(Toy(), false).parameter_slices();
  EXPECT_EQ(LoadCheckpoint(RunDirectory(cut).checkpoint(), slices, DType::kF64).value().step, 9);
  run.on_step = nullptr;
  run.mode = RunMode::kResume;
  ASSERT_TRUE(OnDevice(run, cut).ok());
  EXPECT_EQ(FileBytes(whole + "/checkpoints/last.safetensors"), FileBytes(cut + "/checkpoints/last.safetensors"));
}

// The loss or the gradient of step 4 is not finite: the error names it, the failed batch comes with the parameters that
// it met, and these are the ones that the host has after three steps.
TEST(TrainerResidentTest, NotFiniteNamesTheBatchAndMovesNothing) {
  ToyTaskOptions toy = Toy();
  toy.nan_example = ToySplit(ToyTask(toy)).train[17];
  TrainerOptions run = Options("adam");
  run.shuffle = false;
  for (const bool loss : {true, false}) {
    std::string directory[2];
    absl::Status status[2];
    for (const int device : {0, 1}) {
      directory[device] = NewRunDirectory();
      ResidentToy task(loss ? toy : Toy(), device == 1);
      run.on_step = [&](const StepReport& report) { task.infinite_gradient = !loss && report.step == 3; };
      status[device] = TrainOn(&task, run, directory[device]).status();
    }
    EXPECT_THAT(status[1], ErrorNames(absl::StatusCode::kOutOfRange,
                                      {"epoch 1, step 4", loss ? "the loss is not finite" : "the gradient is not"}));
    EXPECT_EQ(status[1].message(), status[0].message());
    ExpectSameNumbers(RunDirectory(directory[1]).failed_batch(), RunDirectory(directory[0]).failed_batch());
  }
}

TEST(TrainerResidentTest, ErrorsOfTheDeviceEndTheRun) {
  TrainerOptions run = Options("adam");
  ResidentToy task(Toy(), true);
  task.fails_after = 5;
  EXPECT_THAT(TrainOn(&task, run, NewRunDirectory()).status(),
              ErrorNames(absl::StatusCode::kInternal, {"fell off the bus"}));
}

// What steps on the host all the same gets its gradients there.
TEST(TrainerResidentTest, GroupsThatTakeTurnsStepOnTheHost) {
  TrainerOptions run = Options("adam");
  run.groups.groups = ParseParameterGroups("bias:optimizer=sgd,learning_rate=0.05", run.optimizer).value();
  run.groups.alternate_steps = 2;
  const std::string host = NewRunDirectory(), device = NewRunDirectory();
  ASSERT_TRUE(OnHost(run, host).ok());
  ResidentToy task(Toy(), true);
  const absl::StatusOr<TrainResult> result = TrainOn(&task, run, device);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(task.on_device, 0);
  EXPECT_EQ(task.on_host, 21);
  ExpectSameNumbers(device + "/checkpoints/last.safetensors", host + "/checkpoints/last.safetensors");
}

}  // namespace
}  // namespace rutile
