// Training with several processes (here threads) equals training with one, to rounding: batches are dealt out, sums are
// added up, and decisions by time or signal are made once.
// what is decided by time and signals is decided once.

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/interrupt.h"
#include "lib/distributed/communicator.h"
#include "lib/distributed/thread_communicator.h"
#include "lib/optimizer/averages/ema.h"
#include "lib/optimizer/optimizer.h"
#include "lib/task/sampling_policy.h"
#include "lib/testing/toy_task.h"
#include "lib/train/files/run_directory.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/tests/trainer_testing.h"
#include "lib/train/trainer.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

// Returns rank 0's result, after checking that all ranks agree.
TrainResult TrainTogether(int size, TrainerOptions options, const std::string& directory, bool devices = false) {
  std::vector<absl::StatusOr<TrainResult>> results(size, absl::UnknownError("not run"));
  const auto work = [&](Communicator* communicator) {
    TrainerOptions own = options;
    own.communicator = communicator;
    results[communicator->rank()] = TrainNoisyToy(own, directory);
  };
  RunAsThreads(size, work, devices);
  for (const absl::StatusOr<TrainResult>& result : results) {
    EXPECT_TRUE(result.ok()) << result.status();
    if (!result.ok()) return {};
    EXPECT_EQ(result->steps, results[0]->steps);
    EXPECT_EQ(result->best_epoch, results[0]->best_epoch);
    EXPECT_EQ(result->best_loss, results[0]->best_loss);
    for (int64_t i = 0; i < result->best_parameters.num_elements(); ++i) {  // to the last bit
      EXPECT_EQ(result->best_parameters.values<double>()[i], results[0]->best_parameters.values<double>()[i]);
    }
  }
  return *results[0];
}

void ExpectSameRun(const TrainerOptions& options, bool devices = false) {
  const std::string alone_directory = NewRunDirectory();
  const absl::StatusOr<TrainResult> alone = TrainNoisyToy(options, alone_directory);
  ASSERT_TRUE(alone.ok()) << alone.status();
  for (const int size : {2, 3, 7}) {  // seven: some have nothing in a batch of five
    const std::string directory = NewRunDirectory();
    const TrainResult result = TrainTogether(size, options, directory, devices);
    EXPECT_EQ(result.steps, alone->steps);
    EXPECT_EQ(result.best_epoch, alone->best_epoch);
    EXPECT_NEAR(result.best_loss, alone->best_loss, 1e-11);
    EXPECT_NEAR(result.train_loss, alone->train_loss, 1e-11);
    for (int64_t i = 0; i < alone->best_parameters.num_elements(); ++i) {
      EXPECT_NEAR(result.best_parameters.values<double>()[i], alone->best_parameters.values<double>()[i], 1e-11);
    }
    EXPECT_EQ(CheckpointNames(directory), CheckpointNames(alone_directory));
  }
}

TEST(TrainerProcessesTest, EqualOneProcess) { ExpectSameRun(ToyOptions(4)); }

TEST(TrainerProcessesTest, EqualOneWithEverythingAtOnce) {
  TrainerOptions options = ToyOptions(5);
  options.accumulate_grad_batches = 3;
  options.gradient_clip_val = 0.1;
  options.ema = EmaOptions();
  options.average_best = 2;
  options.save_top_k = 2;
  options.keep_every_steps = 4;
  options.validation.fraction = 0.5;
  options.stop.patience = 3;
  options.num_workers = 2;
  ExpectSameRun(options);
}

// On GPUs LibTorch's gradients are summed before they are fetched, with and without accumulation of batches.
TEST(TrainerProcessesTest, EqualOneWithGradientsSummedOnDevices) {
  TrainerOptions options = ToyOptions(4);
  options.compile_mode = CompileMode::kNone;
  ExpectSameRun(options, /*devices=*/true);
  options.accumulate_grad_batches = 3;
  options.gradient_clip_val = 0.1;
  ExpectSameRun(options, /*devices=*/true);
}

TEST(TrainerProcessesTest, EqualOneWithLbfgs) {
  TrainerOptions options = ToyOptions(3);
  options.optimizer = DefaultOptimizerOptions("lbfgs").value();
  ExpectSameRun(options);
}

TEST(TrainerProcessesTest, GradientsTooLargeForOneMessage) {
  ToyTaskOptions toy = NoisyToy();
  toy.num_features = 20000;  // two terms: 40002 values
  const TrainerOptions options = ToyOptions(2);
  const absl::StatusOr<TrainResult> alone = TrainToyTask(toy, options, NewRunDirectory());
  ASSERT_TRUE(alone.ok()) << alone.status();
  const std::string directory = NewRunDirectory();
  RunAsThreads(2, [&](Communicator* communicator) {
    TrainerOptions own = options;
    own.communicator = communicator;
    const absl::StatusOr<TrainResult> result = TrainToyTask(toy, own, directory);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_NEAR(result->best_loss, alone->best_loss, 1e-10 * alone->best_loss);
  });
}

// A signal to one process ends all after the same step, and any number of processes can resume the run.
TEST(TrainerProcessesTest, ASignalEndsAllAndAnyNumberGoesOn) {
  const TrainerOptions options = ToyOptions(3);
  const absl::StatusOr<TrainResult> whole = TrainNoisyToy(options, NewRunDirectory());
  ASSERT_TRUE(whole.ok()) << whole.status();
  const std::string directory = NewRunDirectory();
  RunAsThreads(3, [&](Communicator* communicator) {
    TrainerOptions own = options;
    own.communicator = communicator;
    if (communicator->rank() == 1) {
      own.on_step = [](const StepReport& report) {
        if (report.step == 9) SetInterruptForTest(SIGUSR1);
      };
    }
    EXPECT_EQ(TrainNoisyToy(own, directory).status().code(), absl::StatusCode::kCancelled);
    EXPECT_GE(LastCheckpoint(directory).step, 9) << "rank " << communicator->rank() << " ends before it is written";
  });
  EXPECT_EQ(InterruptSignal(), SIGUSR1);
  SetInterruptForTest(0);
  const int64_t stopped_at = LastCheckpoint(directory).step;
  EXPECT_GE(stopped_at, 9);
  EXPECT_LE(stopped_at, 10);  // the signal may have missed the sum of its own step
  TrainerOptions resumed = options;
  resumed.mode = RunMode::kResume;
  EXPECT_NEAR(TrainTogether(2, resumed, directory).best_loss, whole->best_loss, 1e-11);
}

TEST(TrainerProcessesTest, AllHearOfWhatRankZeroCannotOpen) {
  const std::string directory = NewRunDirectory();
  ASSERT_TRUE(TrainNoisyToy(ToyOptions(1), directory).ok());
  RunAsThreads(2, [&](Communicator* communicator) {
    TrainerOptions own = ToyOptions(1);
    own.communicator = communicator;
    const absl::Status status = TrainNoisyToy(own, directory).status();
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(std::string(status.message()), HasSubstr(communicator->rank() == 0 ? "" : "rank 0: "));
  });
}

TEST(TrainerProcessesTest, OtherDataAreRefused) {
  const std::string directory = NewRunDirectory();
  RunAsThreads(2, [&](Communicator* communicator) {
    TrainerOptions own = ToyOptions(1);
    own.communicator = communicator;
    ToyTaskOptions toy;
    toy.num_examples = 40 + communicator->rank();
    const absl::Status status = TrainToyTask(toy, own, directory).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()), HasSubstr("it has 41 examples, rank 0 40 examples"));
  });
  EXPECT_FALSE(RunDirectory(directory).HoldsRun());
}

// The message names the option that differs, and none of the others.
TEST(TrainerProcessesTest, OtherOptionsAreNamed) {
  const std::string directory = NewRunDirectory();
  RunAsThreads(2, [&](Communicator* communicator) {
    TrainerOptions own = ToyOptions(1);
    own.communicator = communicator;
    own.batch_size = 4 + communicator->rank();
    const absl::Status status = TrainNoisyToy(own, directory).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("rank 1 does not agree with rank 0: it has --batch_size=5, rank 0 4;"));
    EXPECT_LT(status.message().size(), 150u);
  });
}

// Ranks that do not see one folder: all say which rank lacks the checkpoint, and where.
TEST(TrainerProcessesTest, AFolderThatIsNotSharedIsNamed) {
  const std::string directory = NewRunDirectory(), other = NewRunDirectory();
  ASSERT_TRUE(TrainNoisyToy(ToyOptions(1), directory).ok());
  RunAsThreads(2, [&](Communicator* communicator) {
    TrainerOptions own = ToyOptions(2);
    own.communicator = communicator;
    own.mode = RunMode::kResumeOrNew;
    const absl::Status status = TrainNoisyToy(own, communicator->rank() == 0 ? directory : other).status();
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(other + ": does not hold the checkpoint that rank 0 resumes from"));
    EXPECT_THAT(std::string(status.message()), HasSubstr(communicator->rank() == 0 ? "rank 1: " : ""));
  });
}

TEST(TrainerProcessesTest, RefusesErrorWeights) {
  RunAsThreads(1, [](Communicator* communicator) {
    TrainerOptions options = ToyOptions(1);
    options.communicator = communicator;
    options.sampling_policy = SamplingPolicy::kErrorWeighted;
    EXPECT_THAT(std::string(TrainNoisyToy(options, NewRunDirectory()).status().message()), HasSubstr("error_weighted"));
  });
}

}  // namespace
}  // namespace rutile
