// When a run is looked at, what then decides, and parts of epochs.

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/file.h"
#include "lib/base/interrupt.h"
#include "lib/testing/toy_task.h"
#include "lib/train/batch_limit.h"
#include "lib/train/checkpoint.h"
#include "lib/train/ema.h"
#include "lib/train/optimizer.h"
#include "lib/train/run_directory.h"
#include "lib/train/schedule.h"
#include "lib/train/split.h"
#include "lib/train/trainer.h"
#include "lib/train/trainer_options.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;
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

// Each report as "epoch.step", with a "v" if it was validated and "." at the end of an epoch: "1.3v 1.7v."
struct Reports {
  explicit Reports(TrainerOptions* options) {
    options->on_epoch = [this](const EpochReport& report) {
      rows.push_back(
          absl::StrCat(report.epoch, "/", report.step, report.validated ? "v" : "", report.end_of_epoch ? "." : ""));
    };
  }
  std::string Text() const { return absl::StrJoin(rows, " "); }
  std::vector<std::string> rows;
};

std::string RowsOf(TrainerOptions options) {
  Reports reports(&options);
  const absl::StatusOr<TrainResult> result = TrainToy(options, Dir());
  return result.ok() ? reports.Text() : std::string(result.status().message());
}

TEST(TrainerValidationTest, Intervals) {
  TrainerOptions options = Options(2);
  EXPECT_EQ(RowsOf(options), "1/7v. 2/14v.");
  options.validation.fraction = 0.5;  // three steps
  EXPECT_EQ(RowsOf(options), "1/3v 1/6v 1/7v. 2/10v 2/13v 2/14v.");
  options.validation.fraction = 1;
  options.validation.every_steps = 4;  // the end of the run is looked at, too
  EXPECT_EQ(RowsOf(options), "1/4v 1/7. 2/8v 2/12v 2/14. 2/14v");
  options.validation.every_steps = 14;
  EXPECT_EQ(RowsOf(options), "1/7. 2/14v.");
  options.validation.every_steps = 0;
  options.validation.every_epochs = 2;
  options.stop.max_epochs = 3;
  EXPECT_EQ(RowsOf(options), "1/7. 2/14v. 3/21. 3/21v");
  options.stop.max_steps = 9;
  EXPECT_EQ(RowsOf(options), "1/7. 2/9v");
}

TEST(TrainerValidationTest, TimeIsLookedAtAfterEachStep) {
  TrainerOptions options = Options(1);
  options.validation.every_time = absl::Nanoseconds(1);
  EXPECT_EQ(RowsOf(options), "1/1v 1/2v 1/3v 1/4v 1/5v 1/6v 1/7v.");
  options.validation.every_time = absl::Hours(1);
  EXPECT_EQ(RowsOf(options), "1/7. 1/7v");
}

TEST(TrainerValidationTest, StepsAreThoseOfTheOptimiser) {
  TrainerOptions options = Options(2);
  options.accumulate_grad_batches = 2;  // four steps an epoch
  EXPECT_EQ(RowsOf(options), "1/4v. 2/8v.");
  options.validation.fraction = 0.5;
  EXPECT_EQ(RowsOf(options), "1/2v 1/4v. 2/6v 2/8v.");
}

// Validations do not move the parameters, wherever they are.
TEST(TrainerValidationTest, LookingChangesNothing) {
  const std::string plain = Dir(), often = Dir();
  TrainerOptions options = Options(3);
  options.num_workers = 2;
  ASSERT_TRUE(TrainToy(options, plain).ok());
  options.validation.every_steps = 1;
  ASSERT_TRUE(TrainToy(options, often).ok());
  EXPECT_EQ(LastCheckpoint(plain).parameters.ToDoubles(), LastCheckpoint(often).parameters.ToDoubles());
}

std::string LogWithoutTimes(const std::string& dir) {
  std::string text;
  for (const absl::string_view line : absl::StrSplit(Bytes(dir + "/log.tsv"), '\n', absl::SkipEmpty())) {
    const std::vector<std::string> cells = absl::StrSplit(line, '\t');
    absl::StrAppend(&text, absl::StrJoin(cells.begin(), cells.end() - 2, " "), "\n");
  }
  return text;
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

class TrainerResumeTest : public ::testing::TestWithParam<int> {};

// Stopped by limits in the middle of epochs, and by signals after every second step.
TEST_P(TrainerResumeTest, EqualsTheUninterruptedRun) {
  TrainerOptions options = Options(4);
  options.num_workers = 1;
  switch (GetParam()) {
    case 0:
      options.validation.fraction = 0.3;
      break;
    case 1:
      options.validation.every_steps = 4;
      break;
    case 2:
      options.validation.every_epochs = 3;
      break;
    case 3:
      options.monitor = "train_loss";
      options.validation.every_epochs = 2;
      break;
    case 4:
      options.accumulate_grad_batches = 3;
      options.validation.fraction = 0.4;
      break;
    case 5:
      options.limit_train_batches.batches = 4;
      options.limit_val_batches.batches = 1;
      break;
    case 6:
      options.overfit_batches.batches = 3;
      break;
    case 7:
      options.monitor = "val_value_mae";
      options.validation.fraction = 0.5;
      options.schedule.kind = ScheduleKind::kPlateau;
      options.schedule.patience = 0;
      break;
    case 8:
      options.ema.emplace().decay = 0.8;
      options.ema->start_step = 3;
      break;
    case 9:
      options.ema.emplace().type = EmaDecay::kConstant;
      options.ema->update_every_n_steps = 3;
      options.validation.every_steps = 4;
      break;
    case 10:
      options.average_best = 3;
      options.validation.fraction = 0.3;
      break;
    case 11:
      options.save_top_k = 2;
      options.validation.every_steps = 3;
      break;
    case 12:
      options.ema.emplace();
      options.average_best = 2;
      options.save_top_k = -1;
      options.accumulate_grad_batches = 2;
      break;
  }
  const std::string whole = Dir(), parts = Dir();
  ASSERT_TRUE(TrainToy(options, whole).ok());
  options.mode = RunMode::kResumeOrNew;
  for (const int64_t steps : {2, 5, 8}) {
    options.stop.max_steps = steps;
    ASSERT_TRUE(TrainToy(options, parts).ok());
  }
  options.stop.max_steps = -1;
  options.on_step = [](const StepReport& report) { SetInterruptForTest(report.step % 2 == 0 ? SIGTERM : 0); };
  absl::Status status;
  for (int i = 0; i < 30; ++i) {
    status = TrainToy(options, parts).status();
    SetInterruptForTest(0);
    if (status.ok()) break;
    ASSERT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
  }
  EXPECT_TRUE(status.ok()) << status;
  std::vector<std::string> files = {"/best.safetensors", "/last.safetensors"};
  if (options.average_best > 0) files.push_back("/average.safetensors");
  for (const std::string& name : Kept(whole)) files.push_back("/checkpoints/" + name);
  for (const std::string& file : files) EXPECT_EQ(Bytes(whole + file), Bytes(parts + file)) << file;
  EXPECT_EQ(Kept(whole), Kept(parts));
  EXPECT_EQ(LogWithoutTimes(whole), LogWithoutTimes(parts));
}

INSTANTIATE_TEST_SUITE_P(All, TrainerResumeTest, ::testing::Range(0, 13));

TEST(TrainerMonitorTest, DecidesWhatIsBest) {
  TrainerOptions options = Options(12);
  options.optimizer.learning_rate = 0.2;  // goes up and down
  double best_mae = 1e9, best_train = 1e9;
  int64_t epoch_mae = 0, epoch_train = 0;
  options.on_epoch = [&](const EpochReport& report) {
    if (report.validation[0].value < best_mae) best_mae = report.validation[0].value, epoch_mae = report.epoch;
    if (report.train_loss < best_train) best_train = report.train_loss, epoch_train = report.epoch;
  };
  options.monitor = "val_value_mae";
  const absl::StatusOr<TrainResult> mae = TrainToy(options, Dir());
  ASSERT_TRUE(mae.ok()) << mae.status();
  EXPECT_EQ(mae->best_epoch, epoch_mae);
  EXPECT_EQ(mae->best_loss, best_mae);
  options.monitor = "train_loss";
  const absl::StatusOr<TrainResult> train = TrainToy(options, Dir());
  ASSERT_TRUE(train.ok()) << train.status();
  EXPECT_EQ(train->best_epoch, epoch_train);
  options.monitor = "val_mrr";
  EXPECT_THAT(std::string(TrainToy(options, Dir()).status().message()), HasSubstr("no \"val_mrr\" to monitor"));
}

TEST(TrainerStopTest, EarlyStoppingInsideAnEpoch) {
  TrainerOptions options = Options(50);
  options.validation.every_steps = 2;
  options.stop.patience = 3;
  options.stop.min_delta = 100;  // nothing is an improvement after the first
  Reports reports(&options);
  const absl::StatusOr<TrainResult> result = TrainToy(options, Dir());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->stop_reason, HasSubstr("no improvement in 3 validations"));
  EXPECT_EQ(result->steps, 8);
  EXPECT_EQ(reports.Text(), "1/2v 1/4v 1/6v 1/7. 2/8v");
  options.stop.min_epochs = 2;
  reports.rows.clear();
  EXPECT_EQ(TrainToy(options, Dir())->steps, 14);
  options.stop.min_steps = 15;
  EXPECT_EQ(TrainToy(options, Dir())->steps, 16);  // the next validation
}

TEST(TrainerStopTest, Thresholds) {
  TrainerOptions options = Options(50);
  options.stop.stopping_threshold = 1e9;
  EXPECT_THAT(TrainToy(options, Dir())->stop_reason, StartsWith("stopping_threshold=1e+09 is reached"));
  options = Options(50);
  options.stop.divergence_threshold = 1e-9;
  const absl::StatusOr<TrainResult> result = TrainToy(options, Dir());
  EXPECT_THAT(result->stop_reason, StartsWith("divergence_threshold=1e-09 is passed"));
  EXPECT_EQ(result->epochs, 1);
}

// ---- steps of several batches

TEST(TrainerAccumulationTest, EqualsTheLargeBatch) {
  for (const bool lowest : {false, true}) {  // clipped or not
    const std::string large = Dir(), small = Dir(), odd = Dir();
    TrainerOptions options = Options(5);
    if (lowest) options.gradient_clip_norm = 0.05;
    options.batch_size = 10;  // 10, 10, 10, 2
    ASSERT_TRUE(TrainToy(options, large).ok());
    options.batch_size = 5;
    options.accumulate_grad_batches = 2;
    ASSERT_TRUE(TrainToy(options, small).ok());
    options.batch_size = 1;
    options.accumulate_grad_batches = 10;
    ASSERT_TRUE(TrainToy(options, odd).ok());
    const std::vector<double> expected = LastCheckpoint(large).parameters.ToDoubles();
    EXPECT_EQ(LastCheckpoint(large).step, 20);
    for (const std::string& dir : {small, odd}) {
      EXPECT_EQ(LastCheckpoint(dir).step, 20);
      const std::vector<double> found = LastCheckpoint(dir).parameters.ToDoubles();
      for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-12 * std::abs(expected[i]));
    }
  }
}

TEST(TrainerAccumulationTest, NotFiniteNamesTheBatchAtFault) {
  ToyTaskOptions toy;
  toy.nan_example = 0;
  ToyTask task(toy);
  Split split;
  for (int64_t i = 0; i < 8; ++i) split.train.push_back(i);
  TrainerOptions options = Options(1);
  options.batch_size = 1;
  options.shuffle = false;
  options.check_gradient = false;
  options.accumulate_grad_batches = 8;
  EXPECT_THAT(std::string(Train(task, split, options, Dir(), {}).status().message()), HasSubstr("examples 0)"));
}

TEST(TrainerStepTest, ClipsComponents) {
  TrainerOptions options = Options(1);
  options.optimizer = DefaultOptimizerOptions("sgd").value();
  options.optimizer.learning_rate = 1;
  options.stop.max_steps = 1;
  options.gradient_clip_value = 1e-3;
  const std::string dir = Dir();
  ASSERT_TRUE(TrainToy(options, dir).ok());
  const std::vector<double> before = ToyTask(Noisy()).InitialParameters(11).ToDoubles();
  const std::vector<double> after = LastCheckpoint(dir).parameters.ToDoubles();
  for (size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(std::abs(after[i] - before[i]), 1e-3, 1e-12) << i;
}

// ---- parts of epochs

TEST(TrainerLimitTest, TrainsOnTheFirstBatches) {
  TrainerOptions options = Options(3);
  options.limit_train_batches.fraction = 0.3;
  EXPECT_EQ(TrainToy(options, Dir())->steps, 6);
  options.limit_train_batches.batches = 5;
  EXPECT_EQ(TrainToy(options, Dir())->steps, 15);
}

TEST(TrainerLimitTest, ValidatesOnTheFirstBatches) {
  TrainerOptions options = Options(1);
  double whole = 0, limited = 0;
  options.on_epoch = [&](const EpochReport& report) { whole = report.validation_loss; };
  ASSERT_TRUE(TrainToy(options, Dir()).ok());
  options.on_epoch = [&](const EpochReport& report) { limited = report.validation_loss; };
  options.limit_val_batches.batches = 1;  // five of the eight
  const std::string dir = Dir();
  ASSERT_TRUE(TrainToy(options, dir).ok());
  EXPECT_NE(whole, limited);
  ToyTask task(Noisy());
  const Split split = MakeSplit(task);
  NamedTensors batch;
  ASSERT_TRUE(task.MakeBatch(absl::MakeConstSpan(split.validation).subspan(0, 5), &batch).ok());
  TermSums sums(2);
  std::vector<double> metrics(2);
  ASSERT_TRUE(task.Evaluate(LastCheckpoint(dir).parameters, batch, &sums, absl::MakeSpan(metrics)).ok());
  EXPECT_NEAR(limited, task.CombineTerms(sums).value, 1e-12);
}

TEST(TrainerLimitTest, OverfitsTheSameBatches) {
  TrainerOptions options = Options(400);
  options.overfit_batches.batches = 1;
  options.batch_size = 3;
  options.optimizer.learning_rate = 0.05;
  const absl::StatusOr<TrainResult> result = TrainToy(options, Dir());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->steps, 400);
  EXPECT_LT(result->best_loss, 0.02);  // noise and all
  EXPECT_NEAR(result->train_loss, result->best_loss, 0.02);
}

}  // namespace
}  // namespace rutile
