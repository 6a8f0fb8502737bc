// Interrupts runs in every way and resumes them: which checkpoint they take, and which files they leave.

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/interrupt.h"
#include "lib/file/file.h"
#include "lib/optimizer/averages/ema.h"
#include "lib/optimizer/optimizer.h"
#include "lib/optimizer/parameter_groups.h"
#include "lib/optimizer/schedule/schedule.h"
#include "lib/task/sampling_policy.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/testing/full_disk.h"
#include "lib/train/files/checkpoint.h"
#include "lib/train/files/run_directory.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/tests/trainer_testing.h"
#include "lib/train/trainer.h"

namespace rutile {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ResumeTest : public ::testing::Test {
 protected:
  ResumeTest() {
    options_ = ToyOptions(4);
    options_.save_interval = absl::ZeroDuration();
    options_.save_top_k = 2;
    options_.on_message = [this](absl::string_view message) { messages_.emplace_back(message); };
  }
  ~ResumeTest() override { SetInterruptForTest(0); }

  absl::StatusOr<TrainResult> Run(const std::string& directory) { return TrainNoisyToy(options_, directory); }

  // Stops after `step` steps, as SIGTERM would.
  void RunTo(const std::string& directory, int64_t step) {
    const auto before = options_.on_step;
    options_.on_step = [step](const StepReport& report) {
      if (report.step == step) SetInterruptForTest(SIGTERM);
    };
    EXPECT_EQ(Run(directory).status().code(), absl::StatusCode::kCancelled);
    SetInterruptForTest(0);
    options_.on_step = before;
  }

  // Expects all files of two runs to be equal, except those in recovery/.
  static void ExpectEqual(const std::string& a, const std::string& b) {
    std::vector<std::string> files = {"/best.safetensors", "/last.safetensors"};
    for (const std::string& name : CheckpointNames(a)) files.push_back("/checkpoints/" + name);
    EXPECT_EQ(CheckpointNames(a), CheckpointNames(b));
    for (const std::string& file : files) EXPECT_EQ(FileBytes(a + file), FileBytes(b + file)) << file;
    EXPECT_EQ(LogWithoutTimes(a), LogWithoutTimes(b));
  }

  static void Damage(const std::string& path) {
    std::string bytes = FileBytes(path);
    bytes.resize(bytes.size() / 2);
    ASSERT_TRUE(WriteFileAtomically(path, bytes).ok());
  }

  TrainerOptions options_;
  std::vector<std::string> messages_;
};

// Whether or not checkpoints are written beside training, the bits are the same.
TEST_F(ResumeTest, BesideTrainingChangesNothing) {
  const std::string plain = NewRunDirectory(), beside = NewRunDirectory();
  ASSERT_TRUE(Run(plain).ok());
  options_.save_interval = absl::Nanoseconds(1);
  ASSERT_TRUE(Run(beside).ok());
  ExpectEqual(plain, beside);
}

TEST_F(ResumeTest, FromThePreviousCheckpointWhenTheLastIsDamaged) {
  const std::string whole = NewRunDirectory(), cut = NewRunDirectory();
  ASSERT_TRUE(Run(whole).ok());
  RunTo(cut, 17);
  const RunDirectory directory(cut);
  Damage(directory.checkpoint());
  options_.mode = RunMode::kResume;
  const absl::Status status = Run(cut).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr(directory.previous() + " is whole, of epoch 3, step 17"));
  options_.mode = RunMode::kResumeOrNew;
  messages_.clear();
  ASSERT_TRUE(Run(cut).ok());
  EXPECT_THAT(messages_, ElementsAre(HasSubstr("goes on from " + directory.previous()), HasSubstr("warning: ")));
  EXPECT_TRUE(FileExists(directory.replaced()));
  ExpectEqual(whole, cut);
}

// The fallback is interrupted again before its first save: the checkpoint that it took is the last one.
TEST_F(ResumeTest, TheCheckpointThatWasTakenIsTheLast) {
  const std::string whole = NewRunDirectory(), cut = NewRunDirectory();
  ASSERT_TRUE(Run(whole).ok());
  RunTo(cut, 16);
  options_.mode = RunMode::kResumeOrNew;
  options_.save_interval = absl::Hours(1);
  RunTo(cut, 17);
  Damage(RunDirectory(cut).checkpoint());
  options_.stop.max_steps = 16;
  ASSERT_TRUE(Run(cut).ok());
  EXPECT_EQ(LastCheckpoint(cut).step, 16);
  options_.stop.max_steps = -1;
  ASSERT_TRUE(Run(cut).ok());
  ExpectEqual(whole, cut);
}

TEST_F(ResumeTest, NothingIsLostWhenAllAreDamaged) {
  options_.save_top_k = 0;
  const std::string directory = NewRunDirectory();
  RunTo(directory, 9);
  const RunDirectory run(directory);
  Damage(run.checkpoint());
  Damage(run.previous());
  options_.mode = RunMode::kResumeOrNew;
  EXPECT_EQ(Run(directory).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(FileExists(run.best()) && FileExists(run.log()));  // no new run has begun
}

TEST_F(ResumeTest, GoingBackToACheckpoint) {
  options_.keep_every_steps = 5;
  const std::string whole = NewRunDirectory(), back = NewRunDirectory(), elsewhere = NewRunDirectory();
  ASSERT_TRUE(Run(whole).ok());
  ASSERT_TRUE(Run(back).ok());
  options_.mode = RunMode::kResume;
  options_.resume_from = RunDirectory(back).step_checkpoint(10);
  RunTo(back, 12);
  EXPECT_EQ(LastCheckpoint(back).step, 12);
  options_.resume_from.clear();
  ASSERT_TRUE(Run(back).ok());
  ExpectEqual(whole, back);
  // In another directory the models are the same, and the log begins there.
  options_.resume_from = RunDirectory(whole).step_checkpoint(10);
  RunTo(elsewhere, 12);
  options_.resume_from.clear();
  ASSERT_TRUE(Run(elsewhere).ok());
  for (const char* file : {"/best.safetensors", "/last.safetensors"}) {
    EXPECT_EQ(FileBytes(whole + file), FileBytes(elsewhere + file)) << file;
  }
  const std::string log = LogWithoutTimes(whole), part = LogWithoutTimes(elsewhere);
  const std::string rows = part.substr(part.find('\n'));
  EXPECT_EQ(log.substr(log.size() - rows.size()), rows);
  EXPECT_LT(part.size(), log.size());
  // A directory with a run of its own is left alone.
  options_.resume_from = RunDirectory(whole).step_checkpoint(10);
  EXPECT_EQ(Run(back).status().code(), absl::StatusCode::kAlreadyExists);
}

// A run that was killed after its last checkpoint, or is resumed when it is over, leaves the same files.
TEST_F(ResumeTest, ARunThatIsOver) {
  options_.save_interval = absl::Hours(1);
  const std::string directory = NewRunDirectory();
  ASSERT_TRUE(Run(directory).ok());
  const std::string last = FileBytes(RunDirectory(directory).last()),
                    checkpoint = FileBytes(RunDirectory(directory).checkpoint());
  ASSERT_EQ(std::remove(RunDirectory(directory).last().c_str()), 0);
  options_.mode = RunMode::kResumeOrNew;
  ASSERT_TRUE(Run(directory).ok());
  EXPECT_EQ(FileBytes(RunDirectory(directory).last()), last);
  EXPECT_EQ(FileBytes(RunDirectory(directory).checkpoint()), checkpoint);
}

// ---- L-BFGS, which ends by itself

class LbfgsResumeTest : public ResumeTest {
 protected:
  LbfgsResumeTest() {
    options_ = ToyOptions(1000);
    options_.optimizer = DefaultOptimizerOptions("lbfgs").value();
    options_.save_interval = absl::ZeroDuration();
    options_.on_message = [this](absl::string_view message) { messages_.emplace_back(message); };
  }
};

TEST_F(LbfgsResumeTest, AConvergedRunHasConverged) {
  const std::string whole = NewRunDirectory(), again = NewRunDirectory();
  const absl::StatusOr<TrainResult> result = Run(whole);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->stop_reason, "L-BFGS has converged");
  RunTo(again, result->steps);  // stopped after that step, before the end
  options_.mode = RunMode::kResume;
  for (int session = 0; session < 2; ++session) {
    const absl::StatusOr<TrainResult> resumed = Run(again);
    ASSERT_TRUE(resumed.ok()) << resumed.status();
    EXPECT_EQ(resumed->steps, result->steps);
    EXPECT_EQ(resumed->stop_reason, "L-BFGS has converged");
    ExpectEqual(whole, again);
  }
  // Under other options L-BFGS may not have converged.
  options_.optimizer.learning_rate *= 0.5;
  EXPECT_GT(Run(again)->steps, result->steps);
}

TEST_F(LbfgsResumeTest, NothingToDoFromTheFirstStep) {
  options_.optimizer.tolerance_gradient = 1e9;
  const std::string directory = NewRunDirectory();
  ASSERT_TRUE(Run(directory).ok());
  options_.mode = RunMode::kResume;
  const absl::StatusOr<TrainResult> resumed = Run(directory);
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_EQ(resumed->stop_reason, "L-BFGS has converged");
  EXPECT_EQ(resumed->steps, 1);
}

TEST_F(ResumeTest, OneRunInADirectory) {
  const std::string directory = NewRunDirectory();
  absl::Status status;
  options_.on_step = [&](const StepReport& report) {
    if (report.step != 3) return;
    TrainerOptions second = ToyOptions(1);
    second.mode = RunMode::kResumeOrNew;
    status = TrainNoisyToy(second, directory).status();
  };
  ASSERT_TRUE(Run(directory).ok());
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("another run is training here"));
  EXPECT_FALSE(FileExists(RunDirectory(directory).lock()));
}

// Models, checkpoints, the k best and logs: what had no room is there in the end.
TEST_F(ResumeTest, AFullDiskDoesNotEndTraining) {
  for (const absl::Duration interval : {absl::ZeroDuration(), absl::Nanoseconds(1)}) {
    options_.save_interval = interval;
    options_.on_epoch = nullptr;
    options_.on_step = nullptr;
    options_.save_top_k = 0;
    const std::string plain = NewRunDirectory(), full = NewRunDirectory();
    ASSERT_TRUE(Run(plain).ok());
    std::optional<FullDisk> disk;
    options_.on_step = [&](const StepReport& report) {
      while (report.step == 8 && !FileExists(RunDirectory(full).checkpoint())) absl::SleepFor(absl::Milliseconds(1));
      if (report.step == 9) disk.emplace(64);
      if (report.step == 10) absl::SleepFor(absl::Milliseconds(110));  // the log's next row does not wait
      if (report.step == 24) {
        EXPECT_LE(LastCheckpoint(full).step, 9);  // the old one is whole
        disk.reset();
      }
    };
    messages_.clear();
    const absl::StatusOr<TrainResult> result = Run(full);
    disk.reset();
    ASSERT_TRUE(result.ok()) << result.status();
    ExpectEqual(plain, full);
    ASSERT_EQ(messages_.size(), 2u);
    EXPECT_THAT(messages_[0], ContainsRegex("training goes on, the (last )?checkpoint"));
    EXPECT_THAT(messages_[1], ContainsRegex("times? a file could not be written while training; now all are whole"));
  }
}

TEST_F(ResumeTest, ADiskThatStaysFull) {
  options_.save_top_k = 0;
  const std::string plain = NewRunDirectory(), full = NewRunDirectory();
  ASSERT_TRUE(Run(plain).ok());
  {
    std::optional<FullDisk> disk;
    options_.on_step = [&](const StepReport& report) {
      if (report.step == 9) disk.emplace(64);
    };
    const absl::Status status = Run(full).status();
    disk.reset();
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("the checkpoint of epoch 2, step 8 is whole: make room and resume the run"));
  }
  options_.on_step = nullptr;
  options_.mode = RunMode::kResume;
  ASSERT_TRUE(Run(full).ok());
  ExpectEqual(plain, full);
}

// The process was killed between writing the checkpoint and removing the former one.
TEST_F(ResumeTest, RemovesWhatAKilledProcessLeft) {
  const std::string directory = NewRunDirectory();
  RunTo(directory, 30 - 9);
  const RunDirectory run(directory);
  const std::vector<std::string> names = CheckpointNames(directory);
  ASSERT_TRUE(WriteFileAtomically(run.named_checkpoint("top-epoch-00099-step-000099.safetensors"), "x").ok());
  ASSERT_TRUE(
      WriteFileAtomically(run.to_remove(), "top-epoch-00099-step-000099.safetensors\n" + names.back() + "\n").ok());
  ASSERT_TRUE(WriteFileAtomically(run.checkpoint() + ".tmp.12.3", "x").ok());
  options_.mode = RunMode::kResume;
  options_.stop.max_steps = 30 - 9;
  ASSERT_TRUE(Run(directory).ok());
  EXPECT_EQ(CheckpointNames(directory), names);
}

// ---- changed settings

TEST_F(ResumeTest, OverridesGoOnWithOthers) {
  struct Case {
    std::vector<std::string> names;
    std::function<void(TrainerOptions*)> change;
  };
  const std::vector<Case> cases = {
      {{"batch_size"}, [](TrainerOptions* o) { o->batch_size = 3; }},
      {{"optimizer", "momentum", "dampening", "nesterov", "beta1", "beta2", "epsilon"},
       [](TrainerOptions* o) {
         o->optimizer = DefaultOptimizerOptions("sgd").value();
         o->optimizer.momentum = 0.5;
       }},
      {{"all"}, [](TrainerOptions* o) { o->ema.emplace(); }},
      {{"all"}, [](TrainerOptions* o) { o->average_best = 2; }},
      {{"all"}, [](TrainerOptions* o) { o->schedule.kind = ScheduleKind::kPlateau; }},
      {{"monitor"}, [](TrainerOptions* o) { o->monitor = "val_value_mae"; }},
      {{"all"},
       [](TrainerOptions* o) { o->groups.groups = ParseParameterGroups("w*:lr_scale=2", o->optimizer).value(); }},
      {{"all"}, [](TrainerOptions* o) { o->sampling_policy = SamplingPolicy::kErrorWeighted; }},
      {{"data"}, [](TrainerOptions* o) { o->data_sha256 = "other"; }},
  };
  options_.data_sha256 = "one";
  options_.save_interval = absl::Hours(1);
  const TrainerOptions plain = options_;
  for (const Case& one : cases) {
    options_ = plain;
    const std::string directory = NewRunDirectory();
    RunTo(directory, 10);
    one.change(&options_);
    options_.mode = RunMode::kResume;
    EXPECT_EQ(Run(directory).status().code(), absl::StatusCode::kFailedPrecondition) << one.names[0];
    options_.overrides = one.names;
    const absl::StatusOr<TrainResult> result = Run(directory);
    ASSERT_TRUE(result.ok()) << one.names[0] << ": " << result.status();
    EXPECT_EQ(result->epochs, 4);
    // From then on the changed options are the run's own.
    options_.overrides.clear();
    options_.stop.max_epochs = 5;
    EXPECT_TRUE(Run(directory).ok()) << one.names[0];
  }
}

TEST_F(ResumeTest, ALearningRateOfZeroStandsStill) {
  options_.save_interval = absl::Hours(1);
  const std::string directory = NewRunDirectory();
  RunTo(directory, 10);
  const std::vector<double> then = LastCheckpoint(directory).parameters.ToDoubles();
  options_.mode = RunMode::kResume;
  options_.optimizer.learning_rate = 1e-300;
  messages_.clear();
  ASSERT_TRUE(Run(directory).ok());
  EXPECT_THAT(messages_, ElementsAre(HasSubstr("goes on from"), "learning_rate is 1e-300 from here on, was 0.02"));
  EXPECT_EQ(LastCheckpoint(directory).parameters.ToDoubles(), then);
}

TEST_F(ResumeTest, ANewRunFromGivenParameters) {
  options_.initial_parameters = Tensor::Of<double>({1, 2, 3, 4});
  options_.optimizer.learning_rate = 1e-300;
  options_.save_interval = absl::Hours(1);
  const std::string directory = NewRunDirectory();
  ASSERT_TRUE(Run(directory).ok());
  EXPECT_EQ(LastCheckpoint(directory).parameters.ToDoubles(), options_.initial_parameters.ToDoubles());
  EXPECT_THAT(messages_, IsEmpty());
}

TEST_F(ResumeTest, FlagsWithoutEffectAreRefused) {
  options_.resume_from = "x";
  EXPECT_EQ(Run(NewRunDirectory()).status().code(), absl::StatusCode::kInvalidArgument);
  options_.resume_from.clear();
  options_.overrides = {"all"};
  EXPECT_EQ(Run(NewRunDirectory()).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace rutile
