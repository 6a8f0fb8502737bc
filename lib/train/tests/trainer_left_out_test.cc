// Runs in which some training examples weigh nothing.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"
#include "lib/optimizer/optimizer.h"
#include "lib/optimizer/parameter_groups.h"
#include "lib/task/task.h"
#include "lib/testing/error_names.h"
#include "lib/testing/toy_task.h"
#include "lib/train/options/split.h"
#include "lib/train/tests/trainer_testing.h"
#include "lib/train/trainer.h"

namespace rutile {
namespace {

// 1 for the training examples whose place in the set is not a multiple of `step`.
std::vector<uint8_t> LeaveOut(const Split& split, int64_t num_examples, size_t step) {
  std::vector<uint8_t> left_out(num_examples, 0);
  for (size_t i = 0; i < split.train.size(); ++i) left_out[split.train[i]] = i % step == 0 ? 0 : 1;
  return left_out;
}

absl::StatusOr<TrainResult> TrainSplit(const Split& split, const TrainerOptions& options,
                                       const std::string& directory = NewRunDirectory()) {
  ToyTask task(NoisyToy());
  return Train(task, split, options, directory, {});
}

// In one batch without shuffling, leaving examples out is training on the others alone, to the last bit.
TEST(TrainerLeftOutTest, OneBatchIsThatOfTheOthers) {
  const ToyTask task(NoisyToy());
  for (const char* optimizer : {"adam", "lbfgs"}) {
    Split split = ToySplit(task);
    TrainerOptions options = ToyOptions(5);
    options.optimizer = DefaultOptimizerOptions(optimizer).value();
    options.batch_size = 100;
    options.shuffle = options.optimizer.kind == OptimizerKind::kLbfgs;
    options.left_out = LeaveOut(split, task.num_examples(), 2);
    const absl::StatusOr<TrainResult> found = TrainSplit(split, options);
    ASSERT_TRUE(found.ok()) << found.status();
    std::vector<int64_t> others;
    for (const int64_t example : split.train) {
      if (options.left_out[example] == 0) others.push_back(example);
    }
    split.train = others;
    options.left_out.clear();
    const absl::StatusOr<TrainResult> expected = TrainSplit(split, options);
    ASSERT_TRUE(expected.ok()) << expected.status();
    EXPECT_EQ(found->best_parameters.ToDoubles(), expected->best_parameters.ToDoubles()) << optimizer;
    EXPECT_EQ(found->train_loss, expected->train_loss);
  }
}

TEST(TrainerLeftOutTest, TheRunHasTheStepsOfAllExamples) {
  const ToyTask task(NoisyToy());
  const Split split = ToySplit(task);
  TrainerOptions options = ToyOptions(3);
  options.left_out = LeaveOut(split, task.num_examples(), 2);
  const absl::StatusOr<TrainResult> result = TrainSplit(split, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->steps, 21);  // seven batches an epoch
}

// Of 32 batches of one example, one has it: the others count as steps and move nothing, whatever the optimizer does
// without a gradient (Adam would go on by its momentum).
TEST(TrainerLeftOutTest, AnEmptyBatchMovesNothing) {
  const ToyTask task(NoisyToy());
  const Split split = ToySplit(task);
  for (const bool device : {false, true}) {
    TrainerOptions options = ToyOptions(1);
    options.batch_size = 1;
    options.shuffle = false;
    options.left_out = LeaveOut(split, task.num_examples(), 32);
    if (device) {  // the steps of a GPU, on the processor
      options.compile_mode = CompileMode::kNone;
      options.device_steps_on_cpu = true;
    }
    const std::string many = NewRunDirectory(), one = NewRunDirectory();
    const absl::StatusOr<TrainResult> result = TrainSplit(split, options, many);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->steps, 32);
    options.stop.max_steps = 1;
    ASSERT_TRUE(TrainSplit(split, options, one).ok());
    EXPECT_EQ(LastCheckpoint(many).parameters.ToDoubles(), LastCheckpoint(one).parameters.ToDoubles()) << device;
  }
}

// Groups take turns by the steps of the run, of which one alone has an example: its number says who moves.
TEST(TrainerLeftOutTest, TurnsAreThoseOfTheRunsSteps) {
  const ToyTask task(NoisyToy());
  const Split split = ToySplit(task);
  TrainerOptions options = ToyOptions(1);
  options.batch_size = 1;
  options.shuffle = false;
  options.groups.groups = ParseParameterGroups("bias", options.optimizer).value();
  options.groups.alternate_steps = 1;
  options.stop.max_steps = 4;
  const std::vector<double> start = task.InitialParameters(options.seed).ToDoubles();
  for (const size_t learned : {0, 1, 2, 3}) {
    options.left_out.assign(task.num_examples(), 0);
    for (size_t i = 0; i < split.train.size(); ++i) options.left_out[split.train[i]] = i == learned ? 0 : 1;
    const std::string directory = NewRunDirectory();
    const absl::StatusOr<TrainResult> result = TrainSplit(split, options, directory);
    ASSERT_TRUE(result.ok()) << result.status();
    const std::vector<double> end = LastCheckpoint(directory).parameters.ToDoubles();
    EXPECT_EQ(end.back() != start.back(), learned % 2 == 0) << learned;  // the bias has the first turn
    EXPECT_EQ(end[0] != start[0], learned % 2 == 1) << learned;
  }
}

// A step of several batches is that of those that have examples, wherever the empty ones are.
TEST(TrainerLeftOutTest, EmptyBatchesAmongAccumulatedOnes) {
  const ToyTask task(NoisyToy());
  const Split split = ToySplit(task);
  TrainerOptions options = ToyOptions(2);
  options.batch_size = 1;
  options.shuffle = false;
  options.left_out = LeaveOut(split, task.num_examples(), 3);
  options.accumulate_grad_batches = 8;
  const absl::StatusOr<TrainResult> parts = TrainSplit(split, options);
  ASSERT_TRUE(parts.ok()) << parts.status();
  options.batch_size = 8;
  options.accumulate_grad_batches = 1;
  const absl::StatusOr<TrainResult> whole = TrainSplit(split, options);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ(parts->steps, whole->steps);
  // Sums are added up in another order.
  EXPECT_THAT(parts->best_parameters.ToDoubles(),
              ::testing::Pointwise(::testing::DoubleNear(1e-12), whole->best_parameters.ToDoubles()));
}

TEST(TrainerLeftOutTest, ResumingInsideAnEpochEqualsTheUninterruptedRun) {
  const ToyTask task(NoisyToy());
  const Split split = ToySplit(task);
  TrainerOptions options = ToyOptions(3);
  options.batch_size = 2;
  options.left_out = LeaveOut(split, task.num_examples(), 4);
  const std::string whole = NewRunDirectory(), parts = NewRunDirectory();
  ASSERT_TRUE(TrainSplit(split, options, whole).ok());
  options.mode = RunMode::kResumeOrNew;
  for (const int64_t steps : {5, 6, 20, 1000}) {
    options.stop.max_steps = steps;
    ASSERT_TRUE(TrainSplit(split, options, parts).ok());
  }
  EXPECT_EQ(FileBytes(whole + "/best.safetensors"), FileBytes(parts + "/best.safetensors"));
}

TEST(TrainerLeftOutTest, RefusesWhatNeedsAllExamples) {
  const ToyTask task(NoisyToy());
  const Split split = ToySplit(task);
  TrainerOptions options = ToyOptions(1);
  options.left_out.assign(task.num_examples(), 1);
  EXPECT_THAT(TrainSplit(split, options).status(), ErrorNames(absl::StatusCode::kInvalidArgument, {"left out"}));
  options.left_out = LeaveOut(split, task.num_examples(), 2);
  options.sampling_policy = SamplingPolicy::kErrorWeighted;
  EXPECT_THAT(TrainSplit(split, options).status(), ErrorNames(absl::StatusCode::kInvalidArgument, {"error_weighted"}));
  options.sampling_policy = SamplingPolicy::kUniform;
  options.overfit_batches.batches = 1;
  EXPECT_THAT(TrainSplit(split, options).status(), ErrorNames(absl::StatusCode::kInvalidArgument, {"overfit_batches"}));
}

}  // namespace
}  // namespace rutile
