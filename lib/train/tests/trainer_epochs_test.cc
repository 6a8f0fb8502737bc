// How the trainer informs the task of epochs, which examples an epoch draws, and how several terms are logged.

#include <cmath>
#include <csignal>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/interrupt.h"
#include "lib/file/file.h"
#include "lib/optimizer/optimizer.h"
#include "lib/task/example_sampling.h"
#include "lib/task/sampling_policy.h"
#include "lib/task/task.h"
#include "lib/testing/toy_task.h"
#include "lib/train/files/run_directory.h"
#include "lib/train/options/split.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/tests/trainer_testing.h"
#include "lib/train/trainer.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;

TEST(TrainerEpochTest, TheTaskIsTold) {
  ToyTask task({});
  TrainerOptions options = ToyOptions(2);
  options.num_workers = 2;
  const std::string dir = NewRunDirectory();
  ASSERT_TRUE(Train(task, ToySplit(task), options, dir, {}).ok());
  // The first entry comes from the first-batch check.
  EXPECT_THAT(task.epochs(), ElementsAre("train 0", "train 0", "validate 0", "train 1", "validate 1"));

  ToyTask again({});
  options.mode = RunMode::kResume;
  options.stop.max_epochs = 3;
  ASSERT_TRUE(Train(again, ToySplit(again), options, dir, {}).ok());
  EXPECT_THAT(again.epochs(), ElementsAre("train 2", "train 2", "validate 2"));
}

TEST(TrainerEpochTest, LbfgsKeepsItsFunction) {
  ToyTask task({});
  TrainerOptions options = ToyOptions(2);
  options.optimizer = DefaultOptimizerOptions("lbfgs").value();
  ASSERT_TRUE(Train(task, ToySplit(task), options, NewRunDirectory(), {}).ok());
  EXPECT_THAT(task.epochs(), ElementsAre("train 0", "train 0", "validate 0", "train 0", "validate 1"));
}

// A caller's time before training counts, too. A run that has made no step makes one: a model that has learned nothing
// is of no use.
TEST(TrainerEpochTest, MaxTimeCountsFromTheCallersStart) {
  TrainerOptions options = ToyOptions(2);
  options.stop.max_time = absl::Hours(1);
  const auto train = [&](const std::string& dir, absl::Time clock_start) {
    ToyTask task({});
    const absl::StatusOr<TrainResult> result = Train(task, ToySplit(task), options, dir, {}, clock_start);
    return result.ok() ? absl::StrCat(result->stop_reason, " ", result->steps) : std::string(result.status().message());
  };
  const std::string dir = NewRunDirectory();
  EXPECT_EQ(train(dir, absl::Now() - absl::Hours(2)), "max_time=1h 1");
  options.mode = RunMode::kResume;
  EXPECT_EQ(train(dir, absl::Now() - absl::Hours(2)), "max_time=1h 1");
  EXPECT_EQ(train(dir, absl::Now()), "max_epochs=2 14");
}

// ---- which examples an epoch learns from

struct Case {
  SamplingPolicy policy;
  double slope_fraction;
};

class TrainerSamplingTest : public ::testing::TestWithParam<Case> {
 protected:
  ToyTaskOptions Toy() const {
    ToyTaskOptions toy;
    toy.noise = 0.3;
    toy.slope_fraction = GetParam().slope_fraction;
    return toy;
  }
  TrainerOptions ParamOptions(int64_t max_epochs) const {
    TrainerOptions options = ToyOptions(max_epochs);
    options.sampling_policy = GetParam().policy;
    return options;
  }
};

TEST_P(TrainerSamplingTest, SameBitsForAnyWorkers) {
  const std::string plain = NewRunDirectory();
  TrainerOptions options = ParamOptions(4);
  ASSERT_TRUE(TrainToyTask(Toy(), options, plain).ok());
  for (const bool persistent : {true, false}) {
    const std::string other = NewRunDirectory();
    options.num_workers = 2;
    options.persistent_workers = persistent;
    ASSERT_TRUE(TrainToyTask(Toy(), options, other).ok());
    for (const char* file : {"/best.safetensors", "/last.safetensors", "/checkpoints/last.safetensors"}) {
      EXPECT_EQ(FileBytes(plain + file), FileBytes(other + file)) << file;
    }
  }
}

TEST_P(TrainerSamplingTest, IsNotTheUniformConfig) {
  const std::string dir = NewRunDirectory(), uniform = NewRunDirectory();
  ASSERT_TRUE(TrainToyTask(Toy(), ParamOptions(3), dir).ok());
  ToyTaskOptions toy;
  toy.noise = Toy().noise;
  ASSERT_TRUE(TrainToyTask(toy, ToyOptions(3), uniform).ok());
  EXPECT_NE(LastCheckpoint(dir).parameters.ToDoubles(), LastCheckpoint(uniform).parameters.ToDoubles());
}

// The run is stopped by a limit inside an epoch, then by a signal every few steps.
TEST_P(TrainerSamplingTest, ResumingAnywhereEqualsTheUninterruptedRun) {
  const std::string whole = NewRunDirectory(), parts = NewRunDirectory();
  TrainerOptions options = ParamOptions(4);
  options.num_workers = 1;
  ASSERT_TRUE(TrainToyTask(Toy(), options, whole).ok());
  options.mode = RunMode::kResumeOrNew;
  options.stop.max_steps = 10;  // seven make an epoch
  ASSERT_TRUE(TrainToyTask(Toy(), options, parts).ok());
  options.stop.max_steps = -1;
  options.on_step = [](const StepReport& report) { SetInterruptForTest(report.step % 3 == 0 ? SIGTERM : 0); };
  absl::Status status;
  for (int i = 0; i < 30; ++i) {
    status = TrainToyTask(Toy(), options, parts).status();
    SetInterruptForTest(0);
    if (status.ok()) break;
    ASSERT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
  }
  EXPECT_TRUE(status.ok()) << status;
  for (const char* file : {"/best.safetensors", "/checkpoints/last.safetensors"}) {
    EXPECT_EQ(FileBytes(whole + file), FileBytes(parts + file)) << file;
  }
}

// The second run on the same task must not see the state of the first.
TEST_P(TrainerSamplingTest, ATaskCanBeTrainedTwice) {
  ToyTask task(Toy());
  const std::string first = NewRunDirectory(), second = NewRunDirectory();
  ASSERT_TRUE(Train(task, ToySplit(task), ParamOptions(3), first, {}).ok());
  ASSERT_TRUE(Train(task, ToySplit(task), ParamOptions(3), second, {}).ok());
  EXPECT_EQ(FileBytes(first + "/checkpoints/last.safetensors"), FileBytes(second + "/checkpoints/last.safetensors"));
}

INSTANTIATE_TEST_SUITE_P(Policies, TrainerSamplingTest,
                         ::testing::Values(Case{SamplingPolicy::kUniform, 0.5},
                                           Case{SamplingPolicy::kEnergyWeighted, 1},
                                           Case{SamplingPolicy::kErrorWeighted, 1},
                                           Case{SamplingPolicy::kErrorWeighted, 0.5}));

TEST(TrainerPolicyTest, CheckpointsInsideAnEpochHoldItsWeights) {
  const std::string dir = NewRunDirectory();
  TrainerOptions options = ToyOptions(3);
  options.sampling_policy = SamplingPolicy::kEnergyWeighted;
  options.stop.max_steps = 10;
  ASSERT_TRUE(TrainToyTask({}, options, dir).ok());
  ToyTask task({});
  EXPECT_EQ(LastCheckpoint(dir).sampling_weight,
            task.SamplingWeights(SamplingPolicy::kEnergyWeighted, ToySplit(task).train));
  options.mode = RunMode::kResume;
  options.stop.max_steps = 14;
  ASSERT_TRUE(TrainToyTask({}, options, dir).ok());
  EXPECT_TRUE(LastCheckpoint(dir).sampling_weight.empty());
}

TEST(TrainerPolicyTest, ErrorsAreThoseOfTrainingExamples) {
  const std::string dir = NewRunDirectory();
  TrainerOptions options = ToyOptions(20);
  options.sampling_policy = SamplingPolicy::kErrorWeighted;
  ToyTaskOptions toy;
  toy.noise = 0.1;
  const absl::StatusOr<TrainResult> result = TrainToyTask(toy, options, dir);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_LT(result->best_loss, 0.1);
  const std::vector<double> errors = LastCheckpoint(dir).task.At("last_error").ToDoubles();
  const Split split = ToySplit(ToyTask(toy));
  for (const int64_t example : split.train) EXPECT_FALSE(std::isnan(errors[example])) << example;
  for (const int64_t example : split.validation) EXPECT_TRUE(std::isnan(errors[example])) << example;
}

class PlainTask : public ToyTask {
 public:
  PlainTask() : ToyTask({}) {}
  ExampleSampling* sampling() override { return nullptr; }
};

TEST(TrainerPolicyTest, TasksWithoutPoliciesRefuseBeforeARunIsRemoved) {
  const std::string dir = NewRunDirectory();
  PlainTask task;
  TrainerOptions options = ToyOptions(2);
  ASSERT_TRUE(Train(task, ToySplit(task), options, dir, {}).ok());
  options.mode = RunMode::kOverwrite;
  options.sampling_policy = SamplingPolicy::kEnergyWeighted;
  const absl::Status status = Train(task, ToySplit(task), options, dir, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("sampling_policy is energy_weighted"));
  EXPECT_TRUE(FileExists(dir + "/best.safetensors"));
}

TEST(TrainerPolicyTest, AnotherPolicyIsAnotherRun) {
  const std::string dir = NewRunDirectory();
  TrainerOptions options = ToyOptions(2);
  ASSERT_TRUE(TrainToyTask({}, options, dir).ok());
  options.mode = RunMode::kResume;
  options.sampling_policy = SamplingPolicy::kErrorWeighted;
  EXPECT_EQ(TrainToyTask({}, options, dir).status().code(), absl::StatusCode::kFailedPrecondition);
}

// ---- several terms

// Returns a value of log.tsv by the name of its column.
double Logged(const std::string& dir, const std::string& column, size_t row) {
  const std::string text = FileBytes(dir + "/log.tsv");
  const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  const std::vector<std::string> names = absl::StrSplit(lines[0], '\t'), cells = absl::StrSplit(lines[row], '\t');
  for (size_t c = 0; c < names.size(); ++c) {
    double value;
    if (names[c] == column && absl::SimpleAtod(cells[c], &value)) return value;
  }
  ADD_FAILURE() << column;
  return 0;
}

// In batches of two, most have no strain and many no slope.
TEST(TrainerTermsTest, SumsArePooledOverBatchesThatLackATerm) {
  for (const bool root : {false, true}) {
    ToyTaskOptions toy;
    toy.noise = 0.3;
    toy.strain_every = 5;
    toy.root = root;
    TrainerOptions options = ToyOptions(3);
    options.batch_size = 2;
    std::vector<EpochReport> reports;
    options.on_epoch = [&](const EpochReport& report) { reports.push_back(report); };
    const std::string dir = NewRunDirectory();
    const absl::StatusOr<TrainResult> result = TrainToyTask(toy, options, dir);
    ASSERT_TRUE(result.ok()) << result.status();
    ASSERT_EQ(reports.size(), 3u);
    const auto form = [root](double mean) { return root ? std::sqrt(mean) : mean; };
    for (size_t row = 1; row <= 3; ++row) {
      const std::vector<double>& terms = reports[row - 1].terms;
      ASSERT_THAT(terms, ::testing::SizeIs(3));
      EXPECT_THAT(terms, ::testing::Each(Ge(1e-6)));
      const double loss = 0.625 * form(terms[0]) + 0.25 * form(terms[1]) + 0.125 * form(terms[2]);
      EXPECT_NEAR(reports[row - 1].train_loss, loss, 1e-14);
      EXPECT_NEAR(Logged(dir, "train_loss", row), loss, 1e-8 * loss);
      EXPECT_NEAR(Logged(dir, "train_value[V^2]", row), terms[0], 1e-8 * terms[0]);
      EXPECT_NEAR(Logged(dir, "train_slope[(V/m)^2]", row), terms[1], 1e-8 * terms[1]);
      EXPECT_NEAR(Logged(dir, "train_strain[1]", row), terms[2], 1e-8 * terms[2]);
    }
    EXPECT_EQ(result->train_loss, reports.back().train_loss);
  }
}

TEST(TrainerTermsTest, TermThatIsNeverCountedIsNaNAndTheLossIsOfTheRest) {
  ToyTaskOptions toy;
  toy.noise = 0.3;
  toy.strain_every = 1000;
  TrainerOptions options = ToyOptions(2);
  EpochReport last;
  options.on_epoch = [&](const EpochReport& report) { last = report; };
  const std::string dir = NewRunDirectory();
  ASSERT_TRUE(TrainToyTask(toy, options, dir).ok());
  EXPECT_TRUE(std::isnan(Logged(dir, "train_strain[1]", 1)));
  EXPECT_TRUE(std::isnan(Logged(dir, "train_strain[1]", 2)));
  ASSERT_THAT(last.terms, ::testing::SizeIs(3));
  EXPECT_TRUE(std::isnan(last.terms[2]));
  EXPECT_NEAR(last.train_loss, 0.625 * last.terms[0] + 0.25 * last.terms[1], 1e-14);
}

// The run has the bits of a task of two terms whose shares are the same.
TEST(TrainerTermsTest, TermWithoutValuesDoesNotDisturbTheOthers) {
  ToyTaskOptions two, three;
  two.alpha = three.alpha = 0.25;
  three.strain_every = 1000;
  three.beta = 0;
  const std::vector<double> expected = TrainToyTask(two, ToyOptions(3), NewRunDirectory())->best_parameters.ToDoubles();
  EXPECT_EQ(TrainToyTask(three, ToyOptions(3), NewRunDirectory())->best_parameters.ToDoubles(), expected);
}

}  // namespace
}  // namespace rutile
