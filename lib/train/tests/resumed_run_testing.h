// A run in a directory of its own that tests save checkpoints of and go on with.

#ifndef RUTILE_LIB_TRAIN_TESTS_RESUMED_RUN_TESTING_H_
#define RUTILE_LIB_TRAIN_TESTS_RESUMED_RUN_TESTING_H_

#include <utility>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "lib/testing/toy_task.h"
#include "lib/train/files/checkpoint.h"
#include "lib/train/files/run_directory.h"
#include "lib/train/options/split.h"
#include "lib/train/options/trainer_options.h"

namespace rutile {

// A fixture with a toy task, the sets of its run, and an empty directory that is named after the test.
class ResumedRunTest : public ::testing::Test {
 protected:
  explicit ResumedRunTest(Split split) : split_(std::move(split)) {
    EXPECT_TRUE(directory_.Open(RunMode::kOverwrite).ok());
    EXPECT_TRUE(directory_.RemoveRun().ok());
  }

  // Writes the directory's last checkpoint.
  absl::Status Save(const Checkpoint& state) {
    return SaveCheckpoint(directory_.checkpoint(), state, task_.parameter_slices(), {});
  }

  ToyTask task_{ToyTaskOptions()};
  Split split_;
  TrainerOptions options_;
  RunDirectory directory_{::testing::TempDir() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name()};
};

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_TESTS_RESUMED_RUN_TESTING_H_
