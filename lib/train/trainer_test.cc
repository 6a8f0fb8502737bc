#include "lib/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/interrupt.h"
#include "lib/file/file.h"
#include "lib/optimizer/optimizer.h"
#include "lib/optimizer/schedule/schedule.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/testing/error_names.h"
#include "lib/testing/toy_task.h"
#include "lib/train/files/checkpoint.h"
#include "lib/train/files/run_directory.h"
#include "lib/train/options/split.h"
#include "lib/train/tests/trainer_testing.h"

namespace rutile {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Columns of log.tsv.
std::vector<std::vector<std::string>> Log(const std::string& dir) {
  std::vector<std::vector<std::string>> columns;
  const std::string text = FileBytes(dir + "/log.tsv");
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> cells = absl::StrSplit(line, '\t');
    columns.resize(cells.size());
    for (size_t c = 0; c < cells.size(); ++c) columns[c].push_back(cells[c]);
  }
  return columns;
}

TrainerOptions Options(const char* optimizer, int64_t max_epochs) {
  TrainerOptions options;
  options.optimizer = DefaultOptimizerOptions(optimizer).value();
  if (options.optimizer.kind != OptimizerKind::kLbfgs) options.optimizer.learning_rate = 0.02;
  options.batch_size = 5;
  options.seed = 11;
  options.stop.max_epochs = max_epochs;
  return options;
}

absl::StatusOr<TrainResult> TrainToy(const ToyTaskOptions& toy, const TrainerOptions& options, const std::string& dir) {
  ToyTask task(toy);
  return Train(task, ToySplit(task), options, dir, {{"tool", "trainer_test"}});
}

struct Case {
  const char* optimizer;
  DType dtype;
  CompileMode compile_mode;
  bool root;
};

class TrainerTest : public ::testing::TestWithParam<Case> {
 protected:
  ToyTaskOptions Toy() const {
    ToyTaskOptions toy;
    toy.dtype = GetParam().dtype;
    toy.root = GetParam().root;
    toy.noise = 0.01;
    return toy;
  }
  TrainerOptions ParamOptions(int64_t max_epochs) const {
    TrainerOptions options = Options(GetParam().optimizer, max_epochs);
    options.compile_mode = GetParam().compile_mode;
    if (options.optimizer.kind == OptimizerKind::kSgd) options.optimizer.momentum = 0.5;
    return options;
  }
};

TEST_P(TrainerTest, FindsTheParameters) {
  const std::string dir = NewRunDirectory();
  const absl::StatusOr<TrainResult> result = TrainToy(Toy(), ParamOptions(150), dir);
  ASSERT_TRUE(result.ok()) << result.status();
  const std::vector<double> expected = ToyTask(Toy()).true_parameters();
  const std::vector<double> found = result->best_parameters.ToDoubles();
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 0.03) << i;
  EXPECT_EQ(ReadTensorFile(dir + "/best.safetensors")->tensors.At("parameters").ToDoubles(), found);
}

TEST_P(TrainerTest, SameSeedSameBits) {
  const std::string first = NewRunDirectory(), second = NewRunDirectory(), other = NewRunDirectory();
  TrainerOptions options = ParamOptions(4);
  ASSERT_TRUE(TrainToy(Toy(), options, first).ok());
  options.num_workers = 2;
  ASSERT_TRUE(TrainToy(Toy(), options, second).ok());
  for (const char* file : {"/best.safetensors", "/last.safetensors", "/checkpoints/last.safetensors"}) {
    EXPECT_EQ(FileBytes(first + file), FileBytes(second + file)) << file;
  }
  EXPECT_EQ(LogWithoutTimes(first), LogWithoutTimes(second));
  options.seed = 12;
  ASSERT_TRUE(TrainToy(Toy(), options, other).ok());
  EXPECT_NE(FileBytes(first + "/last.safetensors"), FileBytes(other + "/last.safetensors"));
}

TEST_P(TrainerTest, ResumingEqualsTheUninterruptedRun) {
  const std::string whole = NewRunDirectory(), parts = NewRunDirectory();
  TrainerOptions options = ParamOptions(7);
  options.schedule.kind = ScheduleKind::kPlateau;
  options.schedule.patience = 0;
  options.schedule.factor = 0.7;
  options.schedule.warmup_steps = 7;
  options.num_workers = 1;
  ASSERT_TRUE(TrainToy(Toy(), options, whole).ok());
  options.mode = RunMode::kResumeOrNew;
  for (const int64_t epochs : {1, 3, 7, 7}) {  // the last has nothing to do, and harms nothing
    options.stop.max_epochs = epochs;
    const absl::StatusOr<TrainResult> result = TrainToy(Toy(), options, parts);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->epochs, epochs);
  }
  for (const char* file : {"/best.safetensors", "/checkpoints/last.safetensors"}) {
    EXPECT_EQ(FileBytes(whole + file), FileBytes(parts + file)) << file;
  }
  EXPECT_EQ(LogWithoutTimes(whole), LogWithoutTimes(parts));
}

// The run is stopped by a limit inside an epoch, then by a signal at each of many steps.
TEST_P(TrainerTest, ResumingInsideAnEpochEqualsTheUninterruptedRun) {
  const std::string whole = NewRunDirectory(), parts = NewRunDirectory();
  TrainerOptions options = ParamOptions(3);
  options.schedule.kind = ScheduleKind::kCosine;
  options.schedule.period = 3;  // given, as one that spans the run would span the shorter one
  ASSERT_TRUE(TrainToy(Toy(), options, whole).ok());
  options.mode = RunMode::kResumeOrNew;
  options.stop.max_steps = 2;
  ASSERT_TRUE(TrainToy(Toy(), options, parts).ok());
  EXPECT_EQ(TrainToy(Toy(), options, parts)->steps, 2);  // again, with the same limit
  options.stop.max_steps = -1;
  options.on_step = [](const StepReport& report) { SetInterruptForTest(report.step % 3 == 0 ? SIGTERM : 0); };
  absl::Status status;
  for (int i = 0; i < 30; ++i) {
    status = TrainToy(Toy(), options, parts).status();
    SetInterruptForTest(0);
    if (status.ok()) break;
    ASSERT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
  }
  EXPECT_TRUE(status.ok()) << status;
  for (const char* file : {"/best.safetensors", "/checkpoints/last.safetensors"}) {
    EXPECT_EQ(FileBytes(whole + file), FileBytes(parts + file)) << file;
  }
  EXPECT_EQ(LogWithoutTimes(whole), LogWithoutTimes(parts));
}

INSTANTIATE_TEST_SUITE_P(All, TrainerTest,
                         ::testing::Values(Case{"adam", DType::kF64, CompileMode::kCompile, false},
                                           Case{"adam", DType::kF32, CompileMode::kCompile, true},
                                           Case{"adamw", DType::kF32, CompileMode::kNone, false},
                                           Case{"sgd", DType::kF64, CompileMode::kCompile, false},
                                           Case{"lbfgs", DType::kF64, CompileMode::kCompile, false}));

TEST(TrainerLogTest, HasARowForEachEpoch) {
  const std::string dir = NewRunDirectory();
  std::vector<double> losses;
  TrainerOptions options = Options("adam", 5);
  options.on_epoch = [&](const EpochReport& report) { losses.push_back(report.validation_loss); };
  ASSERT_TRUE(TrainToy({}, options, dir).ok());
  const auto log = Log(dir);
  std::vector<std::string> header;
  for (const auto& column : log) header.push_back(column[0]);
  EXPECT_THAT(header,
              ElementsAre("epoch", "step", "learning_rate", "train_loss", "train_value[V^2]", "train_slope[(V/m)^2]",
                          "val_loss", "val_value_mae[V]", "epoch_time[s]", "examples_per_s"));
  EXPECT_THAT(log[0], ElementsAre("epoch", "1", "2", "3", "4", "5"));
  EXPECT_THAT(log[1], ElementsAre("step", "7", "14", "21", "28", "35"));  // 32 examples in batches of 5
  ASSERT_EQ(losses.size(), 5u);
  for (size_t row = 1; row <= 5; ++row) {
    double value, slope, train, validation;
    ASSERT_TRUE(absl::SimpleAtod(log[3][row], &train) && absl::SimpleAtod(log[4][row], &value) &&
                absl::SimpleAtod(log[5][row], &slope) && absl::SimpleAtod(log[6][row], &validation));
    EXPECT_NEAR(train, 0.75 * value + 0.25 * slope, 1e-8 * train);
    EXPECT_NEAR(validation, losses[row - 1], 1e-8 * validation);
  }
}

TEST(TrainerLogTest, WithoutValidationTheTrainingLossDecides) {
  const std::string dir = NewRunDirectory();
  ToyTask task({});
  Split split;
  for (int64_t i = 0; i < 40; ++i) split.train.push_back(i);
  const absl::StatusOr<TrainResult> result = Train(task, split, Options("adam", 3), dir, {});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->best_loss, result->train_loss);
  EXPECT_EQ(Log(dir).size(), 8u);
}

TEST(TrainerBestTest, KeepsTheLowestValidationLoss) {
  const std::string dir = NewRunDirectory();
  TrainerOptions options = Options("sgd", 12);
  options.optimizer.learning_rate = 0.4;  // noisy: the last epoch is not the best
  ToyTaskOptions toy;
  toy.noise = 1;
  std::vector<double> losses;
  options.on_epoch = [&](const EpochReport& report) { losses.push_back(report.validation_loss); };
  const absl::StatusOr<TrainResult> result = TrainToy(toy, options, dir);
  ASSERT_TRUE(result.ok()) << result.status();
  const auto best = std::min_element(losses.begin(), losses.end());
  EXPECT_EQ(result->best_loss, *best);
  EXPECT_EQ(result->best_epoch, best - losses.begin() + 1);
  ASSERT_NE(result->best_epoch, 12) << "choose a learning rate that overshoots";
  const TensorFile file = ReadTensorFile(dir + "/best.safetensors").value();
  EXPECT_EQ(file.metadata.at("epoch"), std::to_string(result->best_epoch));
  EXPECT_EQ(file.metadata.at("tool"), "trainer_test");
  EXPECT_NE(FileBytes(dir + "/best.safetensors"), FileBytes(dir + "/last.safetensors"));
}

TEST(TrainerStopTest, EarlyStopping) {
  TrainerOptions options = Options("sgd", 1000);
  options.optimizer.learning_rate = 0.4;
  options.stop.patience = 4;
  ToyTaskOptions toy;
  toy.noise = 1;
  const absl::StatusOr<TrainResult> result = TrainToy(toy, options, NewRunDirectory());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->epochs, result->best_epoch + 4);
  EXPECT_THAT(result->stop_reason, HasSubstr("no improvement in 4 validations"));
}

TEST(TrainerStopTest, LimitsInsideAnEpoch) {
  const std::string dir = NewRunDirectory();
  TrainerOptions options = Options("adam", 1000);
  options.stop.max_steps = 10;
  absl::StatusOr<TrainResult> result = TrainToy({}, options, dir);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->steps, 10);
  EXPECT_EQ(result->stop_reason, "max_steps=10");
  EXPECT_THAT(Log(dir)[1], ElementsAre("step", "7", "10"));  // the partial epoch is validated and logged
  EXPECT_EQ(ReadTensorFile(dir + "/last.safetensors")->metadata.at("step"), "10");

  options.stop.max_steps = -1;
  options.stop.max_time = absl::Nanoseconds(1);
  result = TrainToy({}, options, NewRunDirectory());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->steps, 1) << "a run makes a step, however late it begins";
}

TEST(TrainerInterruptTest, FinishesTheStepAndWritesACheckpoint) {
  const std::string dir = NewRunDirectory();
  TrainerOptions options = Options("adam", 5);
  options.on_step = [](const StepReport& report) {
    if (report.step == 10) SetInterruptForTest(SIGTERM);
  };
  const absl::Status status = TrainToy({}, options, dir).status();
  SetInterruptForTest(0);
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(std::string(status.message()), HasSubstr("in epoch 2; the checkpoint is " + dir));
  ToyTask task({});
  const Checkpoint checkpoint =
      LoadCheckpoint(RunDirectory(dir).checkpoint(), task.parameter_slices(), DType::kF64).value();
  EXPECT_EQ(checkpoint.step, 10);
  EXPECT_EQ(checkpoint.epoch, 1);
  EXPECT_EQ(checkpoint.batch, 3);
  EXPECT_TRUE(FileExists(dir + "/best.safetensors"));
  EXPECT_TRUE(FileExists(dir + "/last.safetensors"));
}

TEST(TrainerDirectoryTest, NoRunIsLostByAccident) {
  const std::string dir = NewRunDirectory();
  TrainerOptions options = Options("adam", 2);
  ASSERT_TRUE(TrainToy({}, options, dir).ok());
  const std::string best = FileBytes(dir + "/best.safetensors");
  EXPECT_EQ(TrainToy({}, options, dir).status().code(), absl::StatusCode::kAlreadyExists);
  // An overwrite that fails to start removes nothing either.
  options.mode = RunMode::kOverwrite;
  ToyTaskOptions wrong;
  wrong.wrong_gradient = true;
  EXPECT_FALSE(TrainToy(wrong, options, dir).ok());
  EXPECT_EQ(FileBytes(dir + "/best.safetensors"), best);
  options.seed = 99;
  ASSERT_TRUE(TrainToy({}, options, dir).ok());
  EXPECT_NE(FileBytes(dir + "/best.safetensors"), best);
}

TEST(TrainerDirectoryTest, ResumingNeedsTheSameRun) {
  const std::string dir = NewRunDirectory();
  TrainerOptions options = Options("adam", 2);
  options.mode = RunMode::kResume;
  EXPECT_EQ(TrainToy({}, options, dir).status().code(), absl::StatusCode::kNotFound);
  options.mode = RunMode::kNew;
  ASSERT_TRUE(TrainToy({}, options, dir).ok());
  options.mode = RunMode::kResume;
  options.batch_size = 6;
  EXPECT_THAT(std::string(TrainToy({}, options, dir).status().message()), HasSubstr("batch_size is 6"));
  options.batch_size = 5;
  ToyTaskOptions more;
  more.num_examples = 50;
  EXPECT_THAT(std::string(TrainToy(more, options, dir).status().message()),
              HasSubstr("other examples or another split"));
  ToyTaskOptions wider;
  wider.num_features = 4;
  EXPECT_THAT(std::string(TrainToy(wider, options, dir).status().message()), HasSubstr("made for another model"));
}

TEST(TrainerDirectoryTest, KeepsCheckpointsWhenAsked) {
  const RunDirectory run(NewRunDirectory());
  TrainerOptions options = Options("adam", 5);
  options.keep_every_epochs = 2;
  ASSERT_TRUE(TrainToy({}, options, run.path()).ok());
  EXPECT_FALSE(FileExists(run.epoch_checkpoint(1)));
  EXPECT_TRUE(FileExists(run.epoch_checkpoint(2)));
  EXPECT_TRUE(FileExists(run.epoch_checkpoint(4)));
  ToyTask task({});
  const Checkpoint kept = LoadCheckpoint(run.epoch_checkpoint(4), task.parameter_slices(), DType::kF64).value();
  EXPECT_EQ(kept.epoch, 4);
  EXPECT_GT(kept.loss_weight[0], 0);
}

TEST(TrainerErrorTest, WrongGradientIsRefused) {
  ToyTaskOptions toy;
  toy.wrong_gradient = true;
  TrainerOptions options = Options("adam", 2);
  EXPECT_THAT(std::string(TrainToy(toy, options, NewRunDirectory()).status().message()),
              HasSubstr("d value / d weight[0, 2]"));
  options.gradient_tolerance = 0.1;
  EXPECT_TRUE(TrainToy(toy, options, NewRunDirectory()).ok());
  options.gradient_tolerance = 0;
  options.check_gradient = false;
  EXPECT_TRUE(TrainToy(toy, options, NewRunDirectory()).ok());
  options.check_gradient = true;
  options.compile_mode = CompileMode::kNone;  // does not use it
  EXPECT_TRUE(TrainToy(toy, options, NewRunDirectory()).ok());
}

TEST(TrainerErrorTest, NotFiniteNamesTheBatch) {
  ToyTask task({});
  const Split split = ToySplit(task);
  ToyTaskOptions toy;
  toy.nan_example = split.train[17];
  TrainerOptions options = Options("adam", 2);
  options.shuffle = false;
  const std::string dir = NewRunDirectory();
  const absl::Status status = TrainToy(toy, options, dir).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(
      std::string(status.message()),
      HasSubstr("the loss is not finite in epoch 1, step 4 (loss nan; examples " + std::to_string(split.train[15])));
  // The failed batch is written for a report, with the parameters that it met.
  const TensorFile failed = ReadTensorFile(RunDirectory(dir).failed_batch()).value();
  EXPECT_EQ(failed.metadata.at("kind"), "failed-batch/1");
  EXPECT_EQ(failed.tensors.At("example").values<int64_t>()[2], toy.nan_example);
  toy.nan_example = split.validation[0];
  EXPECT_THAT(std::string(TrainToy(toy, options, NewRunDirectory()).status().message()),
              HasSubstr("the validation loss is nan"));
}

// A toy whose batches name data that can no longer be read.
class LostToy : public ToyTask {
 public:
  using ToyTask::ToyTask;
  absl::StatusOr<NamedTensors> CompleteBatch(const NamedTensors& /*batch*/) const override {
    return absl::DataLossError("neighbors.safetensors: cut off");
  }
};

// What ends the run is named first; that its batch cannot be written is a message, and no file is left.
TEST(TrainerErrorTest, BatchThatCannotBeCompletedIsNotWritten) {
  ToyTaskOptions toy;
  toy.nan_example = ToySplit(ToyTask(toy)).train[0];
  LostToy task(toy);
  TrainerOptions options = Options("adam", 2);
  options.check_gradient = false;
  std::vector<std::string> messages;
  options.on_message = [&](absl::string_view message) { messages.emplace_back(message); };
  const std::string dir = NewRunDirectory();
  const absl::Status status = Train(task, ToySplit(task), options, dir, {}).status();
  EXPECT_THAT(status, ErrorNames(absl::StatusCode::kOutOfRange, {"the loss is not finite in epoch 1"}));
  EXPECT_THAT(messages, Contains(AllOf(HasSubstr("failed-batch.safetensors"), HasSubstr("cut off"))));
  EXPECT_FALSE(FileExists(RunDirectory(dir).failed_batch()));
  // The check of the first batch needs the data, too.
  options.check_gradient = true;
  EXPECT_THAT(Train(task, ToySplit(task), options, NewRunDirectory(), {}).status(),
              ErrorNames(absl::StatusCode::kDataLoss, {"neighbors.safetensors", "cut off"}));
}

TEST(TrainerErrorTest, ErrorsOfTheTaskComeBack) {
  ToyTaskOptions toy;
  toy.failing_example = 5;
  EXPECT_THAT(std::string(TrainToy(toy, Options("adam", 2), NewRunDirectory()).status().message()),
              HasSubstr("toy example 5"));
}

TEST(TrainerErrorTest, BadOptions) {
  TrainerOptions options = Options("adam", 2);
  options.batch_size = 0;
  const std::string dir = NewRunDirectory();
  EXPECT_THAT(std::string(TrainToy({}, options, dir).status().message()), HasSubstr("batch_size is 0"));
  EXPECT_FALSE(FileExists(dir));
  ToyTask task({});
  EXPECT_THAT(std::string(Train(task, Split(), Options("adam", 2), dir, {}).status().message()),
              HasSubstr("no example to train on"));
}

TEST(TrainerStepTest, ClipsTheGradient) {
  TrainerOptions options = Options("sgd", 1);
  options.optimizer.learning_rate = 1;
  options.batch_size = 32;
  options.gradient_clip_val = 0.01;
  const absl::StatusOr<TrainResult> result = TrainToy({}, options, NewRunDirectory());
  ASSERT_TRUE(result.ok()) << result.status();
  const std::vector<double> before = ToyTask({}).InitialParameters(11).ToDoubles();
  const std::vector<double> after = result->best_parameters.ToDoubles();
  double squares = 0;
  for (size_t i = 0; i < before.size(); ++i) squares += (after[i] - before[i]) * (after[i] - before[i]);
  EXPECT_NEAR(std::sqrt(squares), 0.01, 1e-12);
}

TEST(TrainerStepTest, NativeAndReferenceTrainAlike) {
  TrainerOptions options = Options("adam", 10);
  const std::vector<double> native = TrainToy({}, options, NewRunDirectory())->best_parameters.ToDoubles();
  options.compile_mode = CompileMode::kNone;
  EXPECT_THAT(TrainToy({}, options, NewRunDirectory())->best_parameters.ToDoubles(),
              ::testing::Pointwise(::testing::DoubleNear(1e-12), native));
}

TEST(TrainerLbfgsTest, EndsWhenNothingMoves) {
  const absl::StatusOr<TrainResult> result = TrainToy({}, Options("lbfgs", 1000), NewRunDirectory());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->stop_reason, "L-BFGS has converged");
  EXPECT_LT(result->epochs, 100);
  EXPECT_LT(result->best_loss, 1e-8);
}

}  // namespace
}  // namespace rutile
