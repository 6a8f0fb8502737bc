// Averages of parameters, and which files a run leaves when.

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"
#include "lib/optimizer/averages/ema.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/testing/toy_task.h"
#include "lib/train/files/checkpoint.h"
#include "lib/train/files/run_directory.h"
#include "lib/train/options/split.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/tests/trainer_testing.h"
#include "lib/train/trainer.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::vector<double> ModelOf(const std::string& path) {
  return ReadTensorFile(path)->tensors.At("parameters").ToDoubles();
}

// ---- averages

// The average is compared with its formula, applied to the parameters after each step.
TEST(TrainerEmaTest, IsValidatedAndWritten) {
  TrainerOptions options = ToyOptions(3);
  options.save_interval = absl::ZeroDuration();
  options.ema.emplace();
  options.ema->type = EmaDecay::kConstant;
  options.ema->decay = 0.9;
  const std::string dir = NewRunDirectory(), plain = NewRunDirectory();
  std::vector<double> average;
  options.on_step = [&](const StepReport& report) {
    if (report.step == 1) return;
    const std::vector<double> now = LastCheckpoint(dir).parameters.ToDoubles();  // of the step before
    if (report.step == 2) average = now;
    for (size_t i = 0; i < now.size(); ++i) average[i] = 0.9 * average[i] + 0.1 * now[i];
  };
  double loss = 0;
  options.on_epoch = [&](const EpochReport& report) { loss = report.validation_loss; };
  ASSERT_TRUE(TrainNoisyToy(options, dir).ok());
  const Checkpoint last = LastCheckpoint(dir);
  const std::vector<double> now = last.parameters.ToDoubles(), ema = last.ema_parameters.ToDoubles();
  for (size_t i = 0; i < now.size(); ++i) EXPECT_NEAR(ema[i], 0.9 * average[i] + 0.1 * now[i], 1e-12);
  // The parameters themselves train as without an average.
  ASSERT_TRUE(TrainNoisyToy(ToyOptions(3), plain).ok());
  EXPECT_EQ(LastCheckpoint(plain).parameters.ToDoubles(), now);
  EXPECT_EQ(ModelOf(dir + "/last.safetensors"), ema);
  ToyTask task(NoisyToy());
  const Split split = ToySplit(task);
  NamedTensors batch;
  ASSERT_TRUE(task.MakeBatch(split.validation, &batch).ok());
  TermSums sums(2);
  std::vector<double> metrics(2);
  ASSERT_TRUE(task.Evaluate(last.ema_parameters, batch, &sums, absl::MakeSpan(metrics)).ok());
  EXPECT_NEAR(loss, task.CombineTerms(sums).value, 1e-12);
}

TEST(TrainerEmaTest, BeforeItBeginsTheParametersCount) {
  TrainerOptions options = ToyOptions(1000);
  options.ema.emplace().start_step = 1000;
  options.stop.patience = 1;  // ends after two epochs
  options.stop.min_delta = 1e9;
  const std::string dir = NewRunDirectory(), plain = NewRunDirectory();
  ASSERT_TRUE(TrainNoisyToy(options, dir).ok());
  ASSERT_TRUE(TrainNoisyToy(ToyOptions(2), plain).ok());
  EXPECT_EQ(ModelOf(dir + "/last.safetensors"), ModelOf(plain + "/last.safetensors"));
  EXPECT_EQ(LastCheckpoint(dir).ema_parameters.num_elements(), 0);
}

TEST(TrainerAverageTest, IsTheMeanOfTheBest) {
  TrainerOptions options = ToyOptions(6);
  options.optimizer.learning_rate = 0.2;  // goes up and down
  options.average_best = 3;
  options.save_top_k = 3;
  const std::string dir = NewRunDirectory();
  const absl::StatusOr<TrainResult> result = TrainNoisyToy(options, dir);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->averaged, 3);
  EXPECT_TRUE(std::isfinite(result->average_loss));
  std::vector<double> mean(ToyTask({}).num_parameters());
  ASSERT_EQ(CheckpointNames(dir).size(), 4) << absl::StrJoin(CheckpointNames(dir), " ");
  for (const std::string& name : CheckpointNames(dir)) {
    if (name == "last.safetensors") continue;
    EXPECT_THAT(name, StartsWith("top-epoch-"));
    const std::vector<double> parameters = LoadToyCheckpoint(dir + "/checkpoints/" + name).parameters.ToDoubles();
    for (size_t i = 0; i < mean.size(); ++i) mean[i] += parameters[i] / 3;
  }
  const std::vector<double> found = ModelOf(dir + "/average.safetensors");
  for (size_t i = 0; i < mean.size(); ++i) EXPECT_NEAR(found[i], mean[i], 1e-12);
}

// A run may end between two validations, and is then validated once more.
TEST(TrainerAverageTest, HasTheLastValidation) {
  TrainerOptions options = ToyOptions(3);
  options.average_best = 2;
  options.validation.every_epochs = 5;
  const std::string alone = NewRunDirectory();
  const absl::StatusOr<TrainResult> result = TrainNoisyToy(options, alone);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->averaged, 1);
  EXPECT_EQ(result->average_loss, result->best_loss);
  EXPECT_EQ(ModelOf(alone + "/average.safetensors"), ModelOf(alone + "/best.safetensors"));

  // It is no part of the run: what goes on from its checkpoint is the run that did not end there.
  options.validation.every_epochs = 2;
  const std::string whole = NewRunDirectory(), parts = NewRunDirectory();
  const absl::StatusOr<TrainResult> part = TrainNoisyToy(options, parts);
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_EQ(part->averaged, 2);
  options.mode = RunMode::kResumeOrNew;
  options.stop.max_epochs = 6;
  ASSERT_TRUE(TrainNoisyToy(options, parts).ok());
  ASSERT_TRUE(TrainNoisyToy(options, whole).ok());
  for (const char* file : {"/average.safetensors", "/checkpoints/last.safetensors"}) {
    EXPECT_EQ(FileBytes(whole + file), FileBytes(parts + file)) << file;
  }
}

// ---- files

TEST(TrainerFilesTest, NumberedCheckpointsOfSteps) {
  TrainerOptions options = ToyOptions(2);
  options.keep_every_steps = 5;
  const std::string dir = NewRunDirectory();
  ASSERT_TRUE(TrainNoisyToy(options, dir).ok());
  EXPECT_THAT(CheckpointNames(dir),
              ElementsAre("last.safetensors", "step-000000005.safetensors", "step-000000010.safetensors"));
  EXPECT_EQ(LoadToyCheckpoint(RunDirectory(dir).step_checkpoint(10)).step, 10);
  options = ToyOptions(1);
  options.keep_every_time = absl::Nanoseconds(1);
  options.mode = RunMode::kOverwrite;  // the numbered ones of the old run go
  ASSERT_TRUE(TrainNoisyToy(options, dir).ok());
  EXPECT_EQ(CheckpointNames(dir).size(), 8);
}

// A run killed inside a long epoch loses what came after the last save.
TEST(TrainerFilesTest, SavesInsideEpochs) {
  TrainerOptions options = ToyOptions(1);
  options.save_interval = absl::ZeroDuration();
  const std::string dir = NewRunDirectory();
  std::vector<int64_t> steps;
  options.on_step = [&](const StepReport& report) {
    if (report.step > 1) steps.push_back(LastCheckpoint(dir).step);  // what the step before left
  };
  ASSERT_TRUE(TrainNoisyToy(options, dir).ok());
  EXPECT_THAT(steps, ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(TrainerFilesTest, BarebonesWritesAtTheEnd) {
  TrainerOptions options = ToyOptions(2);
  options.files = RunFiles::kAtEnd;
  options.save_interval = absl::ZeroDuration();
  const std::string dir = NewRunDirectory(), plain = NewRunDirectory();
  options.on_step = [&](const StepReport&) { EXPECT_THAT(CheckpointNames(dir), IsEmpty()); };
  ASSERT_TRUE(TrainNoisyToy(options, dir).ok());
  EXPECT_FALSE(FileExists(dir + "/log.tsv"));
  ASSERT_TRUE(TrainNoisyToy(ToyOptions(2), plain).ok());
  for (const char* file : {"/best.safetensors", "/last.safetensors"}) {
    EXPECT_EQ(FileBytes(dir + file), FileBytes(plain + file));
  }
}

TEST(TrainerFilesTest, NoneAtAll) {
  TrainerOptions options = ToyOptions(1);
  options.files = RunFiles::kNone;
  options.keep_every_steps = 1;
  options.keep_every_epochs = 1;
  const std::string dir = NewRunDirectory();
  const absl::StatusOr<TrainResult> result = TrainNoisyToy(options, dir);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->best_epoch, 1);
  EXPECT_FALSE(std::filesystem::exists(dir));
}

}  // namespace
}  // namespace rutile
