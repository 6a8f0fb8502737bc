// Averages of parameters, and which files a run leaves when.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/file.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/testing/toy_task.h"
#include "lib/train/checkpoint.h"
#include "lib/train/ema.h"
#include "lib/train/optimizer.h"
#include "lib/train/run_directory.h"
#include "lib/train/split.h"
#include "lib/train/trainer.h"
#include "lib/train/trainer_options.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// A new directory for each call.
std::string Dir() {
  static int count = 0;
  return ::testing::TempDir() + "/trainer_validation_test" + std::to_string(++count);
}

std::string Bytes(const std::string& path) { return std::string(FileContents::Open(path).value().data()); }

Split MakeSplit(const Task& task) {
  SplitOptions options;
  options.validation_fraction = 0.2;  // 32 to train on, 8 to validate
  return SplitExamples(task.num_examples(), options).value();
}

// An epoch of seven batches: six of five examples, one of two.
TrainerOptions Options(int64_t max_epochs) {
  TrainerOptions options;
  options.optimizer = DefaultOptimizerOptions("adam").value();
  options.optimizer.learning_rate = 0.02;
  options.batch_size = 5;
  options.seed = 11;
  options.stop.max_epochs = max_epochs;
  return options;
}

ToyTaskOptions Noisy() {
  ToyTaskOptions toy;
  toy.noise = 0.3;
  toy.root = true;
  return toy;
}

absl::StatusOr<TrainResult> TrainToy(const TrainerOptions& options, const std::string& dir) {
  ToyTask task(Noisy());
  return Train(task, MakeSplit(task), options, dir, {});
}

Checkpoint LoadToy(const std::string& path) {
  return LoadCheckpoint(path, ToyTask({}).parameter_slices(), DType::kF64, 2).value();
}
Checkpoint LastCheckpoint(const std::string& dir) { return LoadToy(RunDirectory(dir).checkpoint()); }

std::vector<double> ModelOf(const std::string& path) {
  return ReadTensorFile(path)->tensors.At("parameters").ToDoubles();
}

// Names of checkpoints.
std::vector<std::string> Kept(const std::string& dir) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(dir + "/checkpoints")) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// ---- averages

// What the formula gives, from the parameters after each step.
TEST(TrainerEmaTest, IsValidatedAndWritten) {
  TrainerOptions options = Options(3);
  options.save_interval = absl::ZeroDuration();
  options.ema.emplace();
  options.ema->type = EmaDecay::kConstant;
  options.ema->decay = 0.9;
  const std::string dir = Dir(), plain = Dir();
  std::vector<double> average;
  options.on_step = [&](const StepReport& report) {
    if (report.step == 1) return;
    const std::vector<double> now = LastCheckpoint(dir).parameters.ToDoubles();  // of the step before
    if (report.step == 2) average = now;
    for (size_t i = 0; i < now.size(); ++i) average[i] = 0.9 * average[i] + 0.1 * now[i];
  };
  double loss = 0;
  options.on_epoch = [&](const EpochReport& report) { loss = report.validation_loss; };
  ASSERT_TRUE(TrainToy(options, dir).ok());
  const Checkpoint last = LastCheckpoint(dir);
  const std::vector<double> now = last.parameters.ToDoubles(), ema = last.ema_parameters.ToDoubles();
  for (size_t i = 0; i < now.size(); ++i) EXPECT_NEAR(ema[i], 0.9 * average[i] + 0.1 * now[i], 1e-12);
  // The parameters themselves train as without it.
  ASSERT_TRUE(TrainToy(Options(3), plain).ok());
  EXPECT_EQ(LastCheckpoint(plain).parameters.ToDoubles(), now);
  EXPECT_EQ(ModelOf(dir + "/last.safetensors"), ema);
  ToyTask task(Noisy());
  const Split split = MakeSplit(task);
  NamedTensors batch;
  ASSERT_TRUE(task.MakeBatch(split.validation, &batch).ok());
  TermSums sums(2);
  std::vector<double> metrics(2);
  ASSERT_TRUE(task.Evaluate(last.ema_parameters, batch, &sums, absl::MakeSpan(metrics)).ok());
  EXPECT_NEAR(loss, task.CombineTerms(sums).value, 1e-12);
}

TEST(TrainerEmaTest, BeforeItBeginsTheParametersCount) {
  TrainerOptions options = Options(2);
  options.ema.emplace().start_step = 1000;
  const std::string dir = Dir(), plain = Dir();
  ASSERT_TRUE(TrainToy(options, dir).ok());
  ASSERT_TRUE(TrainToy(Options(2), plain).ok());
  EXPECT_EQ(ModelOf(dir + "/last.safetensors"), ModelOf(plain + "/last.safetensors"));
  EXPECT_EQ(LastCheckpoint(dir).ema_parameters.num_elements(), 0);
}

TEST(TrainerAverageTest, IsTheMeanOfTheBest) {
  TrainerOptions options = Options(6);
  options.optimizer.learning_rate = 0.2;  // goes up and down
  options.average_best = 3;
  options.save_top_k = 3;
  const std::string dir = Dir();
  const absl::StatusOr<TrainResult> result = TrainToy(options, dir);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->averaged, 3);
  EXPECT_TRUE(std::isfinite(result->average_loss));
  std::vector<double> mean(ToyTask({}).num_parameters());
  ASSERT_EQ(Kept(dir).size(), 4) << absl::StrJoin(Kept(dir), " ");
  for (const std::string& name : Kept(dir)) {
    if (name == "last.safetensors") continue;
    EXPECT_THAT(name, StartsWith("top-epoch-"));
    const std::vector<double> parameters = LoadToy(dir + "/checkpoints/" + name).parameters.ToDoubles();
    for (size_t i = 0; i < mean.size(); ++i) mean[i] += parameters[i] / 3;
  }
  const std::vector<double> found = ModelOf(dir + "/average.safetensors");
  for (size_t i = 0; i < mean.size(); ++i) EXPECT_NEAR(found[i], mean[i], 1e-12);
}

// ---- files

TEST(TrainerFilesTest, NumberedCheckpointsOfSteps) {
  TrainerOptions options = Options(2);
  options.keep_every_steps = 5;
  const std::string dir = Dir();
  ASSERT_TRUE(TrainToy(options, dir).ok());
  EXPECT_THAT(Kept(dir), ElementsAre("last.safetensors", "step-000000005.safetensors", "step-000000010.safetensors"));
  EXPECT_EQ(LoadToy(RunDirectory(dir).step_checkpoint(10)).step, 10);
  options = Options(1);
  options.keep_every_time = absl::Nanoseconds(1);
  options.mode = RunMode::kOverwrite;  // the numbered ones of the old run go
  ASSERT_TRUE(TrainToy(options, dir).ok());
  EXPECT_EQ(Kept(dir).size(), 8);
}

// A run killed inside a long epoch loses what came after the last save.
TEST(TrainerFilesTest, SavesInsideEpochs) {
  TrainerOptions options = Options(1);
  options.save_interval = absl::ZeroDuration();
  const std::string dir = Dir();
  std::vector<int64_t> steps;
  options.on_step = [&](const StepReport& report) {
    if (report.step > 1) steps.push_back(LastCheckpoint(dir).step);  // what the step before left
  };
  ASSERT_TRUE(TrainToy(options, dir).ok());
  EXPECT_THAT(steps, ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(TrainerFilesTest, BarebonesWritesAtTheEnd) {
  TrainerOptions options = Options(2);
  options.files = RunFiles::kAtEnd;
  options.save_interval = absl::ZeroDuration();
  const std::string dir = Dir(), plain = Dir();
  options.on_step = [&](const StepReport&) { EXPECT_THAT(Kept(dir), IsEmpty()); };
  ASSERT_TRUE(TrainToy(options, dir).ok());
  EXPECT_FALSE(FileExists(dir + "/log.tsv"));
  ASSERT_TRUE(TrainToy(Options(2), plain).ok());
  for (const char* file : {"/best.safetensors", "/last.safetensors"}) EXPECT_EQ(Bytes(dir + file), Bytes(plain + file));
}

TEST(TrainerFilesTest, NoneAtAll) {
  TrainerOptions options = Options(1);
  options.files = RunFiles::kNone;
  options.keep_every_steps = 1;
  options.keep_every_epochs = 1;
  const std::string dir = Dir();
  const absl::StatusOr<TrainResult> result = TrainToy(options, dir);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->best_epoch, 1);
  EXPECT_FALSE(std::filesystem::exists(dir));
}

}  // namespace
}  // namespace rutile
