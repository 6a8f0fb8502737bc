// Whole runs with parameter groups, and with the optimizers that trainer_test does not have.

#include <cmath>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/optimizer/optimizer.h"
#include "lib/optimizer/parameter_groups.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/testing/toy_task.h"
#include "lib/train/files/run_directory.h"
#include "lib/train/options/split.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/tests/trainer_testing.h"
#include "lib/train/trainer.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

// Trains on all 40 examples, in ten batches of four.
absl::StatusOr<TrainResult> TrainToy(const TrainerOptions& options, const std::string& dir) {
  ToyTask task(ToyTaskOptions{});
  return Train(task, SplitExamples(task.num_examples(), SplitOptions{}).value(), options, dir, {});
}

TrainerOptions Options(const char* optimizer, const char* groups, int64_t alternate_steps = 0) {
  TrainerOptions options;
  options.optimizer = DefaultOptimizerOptions(optimizer).value();
  options.optimizer.learning_rate = 0.02;
  options.groups.groups = ParseParameterGroups(groups, options.optimizer).value();
  options.groups.alternate_steps = alternate_steps;
  options.batch_size = 4;
  options.seed = 11;
  options.stop.max_epochs = 6;
  return options;
}

std::vector<TrainerOptions> Runs() {
  std::vector<TrainerOptions> runs = {
      Options("rmsprop", ""),
      Options("adagrad", ""),
      Options("schedule-free-adamw", ""),
      Options("adam", "bias:optimizer=sgd,learning_rate=0.05"),
      Options("adam", "bias", 3),
      Options("schedule-free-adamw", "weight:optimizer=adagrad,learning_rate=0.5", 1),
  };
  runs[0].optimizer.momentum = 0.5;
  runs[0].optimizer.centered = true;
  runs[1].optimizer.learning_rate = 0.5;
  runs[2].schedule.warmup_steps = 7;
  runs[5].optimizer.weight_decay = 1e-3;
  runs[5].groups.decay_biases = false;
  runs.push_back(runs[4]);
  runs.back().compile_mode = CompileMode::kNone;
  for (TrainerOptions& run : runs) run.gradient_clip_val = 0.5;
  return runs;
}

TEST(TrainerGroupsTest, LossFalls) {
  for (TrainerOptions run : Runs()) {
    run.stop.max_epochs = 1;
    const absl::StatusOr<TrainResult> first = TrainToy(run, NewRunDirectory());
    ASSERT_TRUE(first.ok()) << first.status();
    run.stop.max_epochs = 60;
    EXPECT_LT(TrainToy(run, NewRunDirectory())->best_loss, 0.2 * first->best_loss)
        << kOptimizerNames.Name(run.optimizer.kind);
  }
}

// Stopping and resuming inside epochs and inside turns gives the bits of the uninterrupted run.
TEST(TrainerGroupsTest, ResumingEqualsTheUninterruptedRun) {
  for (TrainerOptions run : Runs()) {
    const std::string whole = NewRunDirectory(), parts = NewRunDirectory();
    ASSERT_TRUE(TrainToy(run, whole).ok());
    run.mode = RunMode::kResumeOrNew;
    for (const int64_t steps : {1, 2, 5, 9, 10, 17, 31, 1000}) {
      run.stop.max_steps = steps;
      const absl::StatusOr<TrainResult> result = TrainToy(run, parts);
      ASSERT_TRUE(result.ok()) << result.status();
    }
    EXPECT_EQ(FileBytes(whole + "/best.safetensors"), FileBytes(parts + "/best.safetensors"));
    EXPECT_EQ(FileBytes(whole + "/checkpoints/last.safetensors"), FileBytes(parts + "/checkpoints/last.safetensors"));
  }
}

// The toy task leaves NaN in the gradients of frozen parameters; the kernel that skips them must give the reference's
// run.
TEST(TrainerGroupsTest, TurnsNeedNoGradientOfWhatRests) {
  TrainerOptions run = Options("adam", "bias", 2);
  run.gradient_clip_val = 0.1;
  const absl::StatusOr<TrainResult> kernel = TrainToy(run, NewRunDirectory());
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  run.compile_mode = CompileMode::kNone;
  const absl::StatusOr<TrainResult> reference = TrainToy(run, NewRunDirectory());
  const std::vector<double> found = kernel->best_parameters.ToDoubles();
  const std::vector<double> expected = reference->best_parameters.ToDoubles();
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-10);
}

// Schedule-free optimizers validate and write x, while checkpoints keep y and z; an EMA would average twice.
TEST(TrainerGroupsTest, ModelsAreTheAverage) {
  TrainerOptions run = Options("schedule-free-adamw", "");
  const std::string dir = NewRunDirectory();
  ASSERT_TRUE(TrainToy(run, dir).ok());
  const std::vector<double> x = ReadTensorFile(dir + "/last.safetensors")->tensors.At("parameters").ToDoubles();
  const NamedTensors state = ReadTensorFile(dir + "/checkpoints/last.safetensors")->tensors;
  std::vector<double> y = state.At("parameters.weight").ToDoubles();
  y.push_back(state.At("parameters.bias").ToDoubles()[0]);
  const std::vector<double> z = state.At("optimizer.z").ToDoubles();
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(y[i], (1 - run.optimizer.beta1) * z[i] + run.optimizer.beta1 * x[i], 1e-12);
    EXPECT_NE(x[i], y[i]);
  }
  run.ema.emplace();
  EXPECT_THAT(std::string(TrainToy(run, NewRunDirectory()).status().message()),
              HasSubstr("ema does not go with schedule-free"));
  run = Options("adam", "bias:optimizer=schedule-free-adamw");
  run.ema.emplace();
  EXPECT_THAT(std::string(TrainToy(run, NewRunDirectory()).status().message()),
              HasSubstr("ema does not go with schedule-free"));
}

// Clipping limits the norm of the active group's gradient alone.
TEST(TrainerGroupsTest, ClippingIsOfTheGroupThatMoves) {
  TrainerOptions run = Options("sgd", "bias", 1);
  run.optimizer.learning_rate = 1;
  run.groups.groups = ParseParameterGroups("bias", run.optimizer).value();
  run.gradient_clip_val = 1e-3;
  run.stop.max_steps = 1;
  const std::string dir = NewRunDirectory();
  const absl::StatusOr<TrainResult> result = TrainToy(run, dir);
  ASSERT_TRUE(result.ok()) << result.status();
  const std::vector<double> start = ToyTask(ToyTaskOptions{}).InitialParameters(run.seed).ToDoubles();
  const std::vector<double> end = ReadTensorFile(dir + "/last.safetensors")->tensors.At("parameters").ToDoubles();
  EXPECT_EQ(end[0], start[0]);
  EXPECT_NEAR(std::abs(end[3] - start[3]), 1e-3, 1e-12);
}

// The error comes before anything is written and before an old run is removed.
TEST(TrainerGroupsTest, AGlobThatFitsNothingIsRefusedAtTheStart) {
  const std::string dir = NewRunDirectory();
  const absl::Status status = TrainToy(Options("adam", "wieght:lr_scale=2"), dir).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("group wieght fits no parameter; there are weight, bias"));
  EXPECT_FALSE(RunDirectory(dir).HoldsRun());
  TrainerOptions lbfgs = Options("adam", "bias:lr_scale=2");
  lbfgs.optimizer = DefaultOptimizerOptions("lbfgs").value();
  EXPECT_THAT(std::string(TrainToy(lbfgs, dir).status().message()), HasSubstr("do not go with lbfgs"));
}

TEST(TrainerGroupsTest, OtherGroupsAreAnotherRun) {
  const std::string dir = NewRunDirectory();
  TrainerOptions run = Options("adam", "bias:lr_scale=2");
  ASSERT_TRUE(TrainToy(run, dir).ok());
  run.mode = RunMode::kResume;
  run.groups.groups[0].optimizer.beta1 = 0.5;
  const absl::Status status = TrainToy(run, dir).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("parameter_groups is bias:beta1=0.5, but the run to resume has bias:beta1=0.9;"));
}

// A group's rate counts from the step at which it changed, with the moments that the group has.
TEST(TrainerGroupsTest, ARateOfAGroupMayChange) {
  const std::string same = NewRunDirectory(), other = NewRunDirectory();
  TrainerOptions run = Options("adam", "bias:lr_scale=2");
  std::vector<double> moved;
  for (const std::string& dir : {same, other}) {
    run.mode = RunMode::kOverwrite;
    run.stop.max_steps = 5;
    run.groups.groups[0].optimizer.learning_rate = 0.04;
    ASSERT_TRUE(TrainToy(run, dir).ok());
    const double before = ReadTensorFile(dir + "/last.safetensors")->tensors.At("parameters").ToDoubles()[3];
    run.mode = RunMode::kResume;
    run.stop.max_steps = 6;
    if (dir == other) run.groups.groups[0].optimizer.learning_rate = 0.01;
    const absl::StatusOr<TrainResult> result = TrainToy(run, dir);
    ASSERT_TRUE(result.ok()) << result.status();
    moved.push_back(ReadTensorFile(dir + "/last.safetensors")->tensors.At("parameters").ToDoubles()[3] - before);
  }
  EXPECT_NE(moved[0], 0);
  EXPECT_NEAR(moved[1], moved[0] / 4, 1e-12);
}

}  // namespace
}  // namespace rutile
