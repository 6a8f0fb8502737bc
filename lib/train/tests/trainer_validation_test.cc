// When a run validates, what the results decide, and epochs of limited batches.

#include <cmath>
#include <csignal>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/interrupt.h"
#include "lib/optimizer/averages/ema.h"
#include "lib/optimizer/optimizer.h"
#include "lib/optimizer/schedule/schedule.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/testing/toy_task.h"
#include "lib/train/files/run_directory.h"
#include "lib/train/options/split.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/run_plan.h"
#include "lib/train/tests/trainer_testing.h"
#include "lib/train/trainer.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

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
  const absl::StatusOr<TrainResult> result = TrainNoisyToy(options, NewRunDirectory());
  return result.ok() ? reports.Text() : std::string(result.status().message());
}

TEST(TrainerValidationTest, Intervals) {
  TrainerOptions options = ToyOptions(2);
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
  TrainerOptions options = ToyOptions(1);
  options.validation.every_time = absl::Nanoseconds(1);
  EXPECT_EQ(RowsOf(options), "1/1v 1/2v 1/3v 1/4v 1/5v 1/6v 1/7v.");
  options.validation.every_time = absl::Hours(1);
  EXPECT_EQ(RowsOf(options), "1/7. 1/7v");
}

TEST(TrainerValidationTest, StepsAreThoseOfTheOptimizer) {
  TrainerOptions options = ToyOptions(2);
  options.accumulate_grad_batches = 2;  // four steps an epoch
  EXPECT_EQ(RowsOf(options), "1/4v. 2/8v.");
  options.validation.fraction = 0.5;
  EXPECT_EQ(RowsOf(options), "1/2v 1/4v. 2/6v 2/8v.");
}

// Validations do not move the parameters, wherever they are.
TEST(TrainerValidationTest, LookingChangesNothing) {
  const std::string plain = NewRunDirectory(), often = NewRunDirectory();
  TrainerOptions options = ToyOptions(3);
  options.num_workers = 2;
  ASSERT_TRUE(TrainNoisyToy(options, plain).ok());
  options.validation.every_steps = 1;
  ASSERT_TRUE(TrainNoisyToy(options, often).ok());
  EXPECT_EQ(LastCheckpoint(plain).parameters.ToDoubles(), LastCheckpoint(often).parameters.ToDoubles());
}

// ---- the last look

// The epoch has just ended, so nothing is trained since, and the row must not claim a training loss.
TEST(TrainerLastLookTest, BehindAnEpochThereIsNoTrainingLoss) {
  TrainerOptions options = ToyOptions(3);
  options.validation.every_epochs = 2;
  std::vector<EpochReport> reports;
  options.on_epoch = [&](const EpochReport& report) { reports.push_back(report); };
  const std::string dir = NewRunDirectory();
  const absl::StatusOr<TrainResult> result = TrainNoisyToy(options, dir);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(reports.size(), 4u);
  EXPECT_TRUE(reports[3].validated);
  EXPECT_TRUE(std::isnan(reports[3].train_loss) && std::isnan(reports[3].terms[0]));
  EXPECT_GT(reports[2].train_loss, 0);
  EXPECT_EQ(result->train_loss, reports[2].train_loss);  // the last epoch's
  const std::string log = LogWithoutTimes(dir);
  EXPECT_THAT(log.substr(log.rfind("3 21 ")), HasSubstr(" nan nan nan "));
}

// With new data, a finished run and no validation set, no loss of the new data is known.
TEST(TrainerLastLookTest, NothingIsJudgedWhereNothingIsKnown) {
  ToyTask task(NoisyToy());
  Split split = ToySplit(task);
  split.validation.clear();
  TrainerOptions options = ToyOptions(2);
  options.data_sha256 = "one";
  const std::string dir = NewRunDirectory();
  ASSERT_TRUE(Train(task, split, options, dir, {}).ok());
  const std::string best = FileBytes(RunDirectory(dir).best()), log = LogWithoutTimes(dir);
  options.mode = RunMode::kResume;
  options.data_sha256 = "other";
  options.overrides = {"data"};
  absl::StatusOr<TrainResult> result = Train(task, split, options, dir, {});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->best_epoch, 0);
  EXPECT_EQ(FileBytes(RunDirectory(dir).best()), best);
  EXPECT_EQ(LogWithoutTimes(dir), log);
  options.overrides.clear();
  options.stop.max_epochs = 3;
  result = Train(task, split, options, dir, {});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->best_epoch, 3);
  EXPECT_EQ(result->best_loss, result->train_loss);
}

// Validating at the last step does not provide the monitored training loss.
TEST(TrainerLastLookTest, IsOneAtTheMonitoredValue) {
  TrainerOptions options = ToyOptions(4);
  options.monitor = "train_loss";
  options.stop.max_steps = 16;
  std::vector<std::string> directories;
  for (const int64_t interval : {5, 16}) {
    options.validation.every_steps = interval;
    double last = 0;
    options.on_epoch = [&](const EpochReport& report) { last = report.train_loss; };
    directories.push_back(NewRunDirectory());
    const absl::StatusOr<TrainResult> result = TrainNoisyToy(options, directories.back());
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->best_step, 16);
    EXPECT_EQ(result->best_loss, last);
    const auto metadata = ReadTensorFile(RunDirectory(directories.back()).last())->metadata;
    EXPECT_EQ(metadata.at("loss"), absl::StrCat(last));
  }
  for (const char* file : {"/best.safetensors", "/last.safetensors"}) {
    EXPECT_EQ(FileBytes(directories[0] + file), FileBytes(directories[1] + file)) << file;
  }
  options.on_epoch = nullptr;
  EXPECT_EQ(RowsOf(options), "1/7. 2/14. 3/16v 3/16");  // one validation of a step is enough
}

class TrainerResumeTest : public ::testing::TestWithParam<int> {};

// The run is stopped by limits in the middle of epochs, and by signals after every second step.
TEST_P(TrainerResumeTest, EqualsTheUninterruptedRun) {
  TrainerOptions options = ToyOptions(4);
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
    case 13:
      options.keep_every_steps = 5;  // before the validation, whose state the last checkpoint holds
      options.validation.every_steps = 5;
      options.save_interval = absl::ZeroDuration();
      break;
    case 14:
      options.monitor = "train_loss";
      options.keep_every_steps = 2;
      options.validation.every_steps = 4;
      options.save_interval = absl::ZeroDuration();
      break;
  }
  const std::string whole = NewRunDirectory(), parts = NewRunDirectory();
  ASSERT_TRUE(TrainNoisyToy(options, whole).ok());
  options.mode = RunMode::kResumeOrNew;
  for (const int64_t steps : {2, 5, 8}) {
    options.stop.max_steps = steps;
    ASSERT_TRUE(TrainNoisyToy(options, parts).ok());
  }
  options.stop.max_steps = -1;
  options.on_step = [](const StepReport& report) { SetInterruptForTest(report.step % 2 == 0 ? SIGTERM : 0); };
  absl::Status status;
  for (int i = 0; i < 30; ++i) {
    status = TrainNoisyToy(options, parts).status();
    SetInterruptForTest(0);
    if (status.ok()) break;
    ASSERT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
  }
  EXPECT_TRUE(status.ok()) << status;
  std::vector<std::string> files = {"/best.safetensors", "/last.safetensors"};
  if (options.average_best > 0) files.push_back("/average.safetensors");
  for (const std::string& name : CheckpointNames(whole)) files.push_back("/checkpoints/" + name);
  for (const std::string& file : files) EXPECT_EQ(FileBytes(whole + file), FileBytes(parts + file)) << file;
  EXPECT_EQ(CheckpointNames(whole), CheckpointNames(parts));
  EXPECT_EQ(LogWithoutTimes(whole), LogWithoutTimes(parts));
}

INSTANTIATE_TEST_SUITE_P(All, TrainerResumeTest, ::testing::Range(0, 15));

TEST(TrainerMonitorTest, DecidesWhatIsBest) {
  TrainerOptions options = ToyOptions(12);
  options.optimizer.learning_rate = 0.2;  // goes up and down
  double best_mae = 1e9, best_train = 1e9;
  int64_t epoch_mae = 0, epoch_train = 0;
  options.on_epoch = [&](const EpochReport& report) {
    if (report.validation[0].value < best_mae) best_mae = report.validation[0].value, epoch_mae = report.epoch;
    if (report.train_loss < best_train) best_train = report.train_loss, epoch_train = report.epoch;
  };
  options.monitor = "val_value_mae";
  const absl::StatusOr<TrainResult> mae = TrainNoisyToy(options, NewRunDirectory());
  ASSERT_TRUE(mae.ok()) << mae.status();
  EXPECT_EQ(mae->best_epoch, epoch_mae);
  EXPECT_EQ(mae->best_loss, best_mae);
  options.monitor = "train_loss";
  const absl::StatusOr<TrainResult> train = TrainNoisyToy(options, NewRunDirectory());
  ASSERT_TRUE(train.ok()) << train.status();
  EXPECT_EQ(train->best_epoch, epoch_train);
  options.monitor = "val_mrr";
  EXPECT_THAT(std::string(TrainNoisyToy(options, NewRunDirectory()).status().message()),
              HasSubstr("no \"val_mrr\" to monitor"));
}

TEST(TrainerStopTest, EarlyStoppingInsideAnEpoch) {
  TrainerOptions options = ToyOptions(50);
  options.validation.every_steps = 2;
  options.stop.patience = 3;
  options.stop.min_delta = 100;  // nothing is an improvement after the first
  Reports reports(&options);
  const absl::StatusOr<TrainResult> result = TrainNoisyToy(options, NewRunDirectory());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->stop_reason, HasSubstr("no improvement in 3 validations"));
  EXPECT_EQ(result->steps, 8);
  EXPECT_EQ(reports.Text(), "1/2v 1/4v 1/6v 1/7. 2/8v");
  options.stop.min_epochs = 2;
  reports.rows.clear();
  EXPECT_EQ(TrainNoisyToy(options, NewRunDirectory())->steps, 14);
  options.stop.min_steps = 15;
  EXPECT_EQ(TrainNoisyToy(options, NewRunDirectory())->steps, 16);  // the next validation
}

TEST(TrainerStopTest, Thresholds) {
  TrainerOptions options = ToyOptions(50);
  options.stop.stopping_threshold = 1e9;
  EXPECT_THAT(TrainNoisyToy(options, NewRunDirectory())->stop_reason,
              StartsWith("stopping_threshold=1e+09 is reached"));
  options = ToyOptions(50);
  options.stop.divergence_threshold = 1e-9;
  const absl::StatusOr<TrainResult> result = TrainNoisyToy(options, NewRunDirectory());
  EXPECT_THAT(result->stop_reason, StartsWith("divergence_threshold=1e-09 is passed"));
  EXPECT_EQ(result->epochs, 1);
}

// ---- steps of several batches

TEST(TrainerAccumulationTest, EqualsTheLargeBatch) {
  for (const bool lowest : {false, true}) {  // clipped or not
    const std::string large = NewRunDirectory(), small = NewRunDirectory(), odd = NewRunDirectory();
    TrainerOptions options = ToyOptions(5);
    if (lowest) options.gradient_clip_val = 0.05;
    options.batch_size = 10;  // 10, 10, 10, 2
    ASSERT_TRUE(TrainNoisyToy(options, large).ok());
    options.batch_size = 5;
    options.accumulate_grad_batches = 2;
    ASSERT_TRUE(TrainNoisyToy(options, small).ok());
    options.batch_size = 1;
    options.accumulate_grad_batches = 10;
    ASSERT_TRUE(TrainNoisyToy(options, odd).ok());
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
  TrainerOptions options = ToyOptions(1);
  options.batch_size = 1;
  options.shuffle = false;
  options.check_gradient = false;
  options.accumulate_grad_batches = 8;
  EXPECT_THAT(std::string(Train(task, split, options, NewRunDirectory(), {}).status().message()),
              HasSubstr("examples 0)"));
}

TEST(TrainerStepTest, ClipsComponents) {
  TrainerOptions options = ToyOptions(1);
  options.optimizer = DefaultOptimizerOptions("sgd").value();
  options.optimizer.learning_rate = 1;
  options.stop.max_steps = 1;
  options.gradient_clip_val = 1e-3;
  options.gradient_clip_algorithm = GradientClip::kValue;
  const std::string dir = NewRunDirectory();
  ASSERT_TRUE(TrainNoisyToy(options, dir).ok());
  const std::vector<double> before = ToyTask(NoisyToy()).InitialParameters(11).ToDoubles();
  const std::vector<double> after = LastCheckpoint(dir).parameters.ToDoubles();
  for (size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(std::abs(after[i] - before[i]), 1e-3, 1e-12) << i;
}

// ---- parts of epochs

TEST(TrainerLimitTest, TrainsOnTheFirstBatches) {
  TrainerOptions options = ToyOptions(3);
  options.limit_train_batches.fraction = 0.3;
  EXPECT_EQ(TrainNoisyToy(options, NewRunDirectory())->steps, 6);
  options.limit_train_batches.batches = 5;
  EXPECT_EQ(TrainNoisyToy(options, NewRunDirectory())->steps, 15);
}

TEST(TrainerLimitTest, ValidatesOnASample) {
  TrainerOptions options = ToyOptions(1);
  double whole = 0, limited = 0;
  options.on_epoch = [&](const EpochReport& report) { whole = report.validation_loss; };
  ASSERT_TRUE(TrainNoisyToy(options, NewRunDirectory()).ok());
  options.on_epoch = [&](const EpochReport& report) { limited = report.validation_loss; };
  options.limit_val_batches.batches = 1;  // five of the eight
  const std::string dir = NewRunDirectory();
  ASSERT_TRUE(TrainNoisyToy(options, dir).ok());
  EXPECT_NE(whole, limited);
  ToyTask task(NoisyToy());
  const Split split = ToySplit(task);
  NamedTensors batch;
  const std::vector<int64_t> sample = MakeRunPlan(split, options)->validation;
  ASSERT_EQ(sample.size(), 5);
  ASSERT_TRUE(task.MakeBatch(sample, &batch).ok());
  TermSums sums(2);
  std::vector<double> metrics(2);
  ASSERT_TRUE(task.Evaluate(LastCheckpoint(dir).parameters, batch, &sums, absl::MakeSpan(metrics)).ok());
  EXPECT_NEAR(limited, task.CombineTerms(sums).value, 1e-12);
}

TEST(TrainerLimitTest, OverfitsTheSameBatches) {
  TrainerOptions options = ToyOptions(400);
  options.overfit_batches.batches = 1;
  options.batch_size = 3;
  options.optimizer.learning_rate = 0.05;
  const absl::StatusOr<TrainResult> result = TrainNoisyToy(options, NewRunDirectory());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->steps, 400);
  EXPECT_LT(result->best_loss, 0.02);  // noise and all
  EXPECT_NEAR(result->train_loss, result->best_loss, 0.02);
}

}  // namespace
}  // namespace rutile
