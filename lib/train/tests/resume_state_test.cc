// What a resumed run makes of the state of its optimizer and schedule when options change.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/optimizer/schedule/schedule.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/testing/toy_task.h"
#include "lib/train/files/checkpoint.h"
#include "lib/train/files/run_directory.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/run_plan.h"
#include "lib/train/starting_state.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;

class ResumeStateTest : public ::testing::Test {
 protected:
  ResumeStateTest() {
    EXPECT_TRUE(directory_.Open(RunMode::kOverwrite).ok());
    EXPECT_TRUE(directory_.RemoveRun().ok());
  }

  RunPlan Plan() const {
    RunPlan plan;
    plan.options = options_;
    plan.train = {0, 1, 2};
    plan.validation = {3};
    plan.num_batches = 2;
    return plan;
  }
  absl::Status Save(const Checkpoint& state) {
    return SaveCheckpoint(directory_.checkpoint(), state, task_.parameter_slices(), {});
  }
  absl::StatusOr<StartingState> Resume() { return ResumedState(task_, Plan(), directory_); }

  ToyTask task_{ToyTaskOptions()};
  TrainerOptions options_;
  RunDirectory directory_{::testing::TempDir() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name()};
};

// Plateau goes on at its share of the new rate, as schedules in closed form do, and not below the lowest one.
TEST_F(ResumeStateTest, AChangedLearningRateScalesThatOfPlateau) {
  options_.optimizer.learning_rate = 0.5;
  options_.schedule.kind = ScheduleKind::kPlateau;
  Checkpoint state = NewState(task_, Plan());
  state.schedule.Set("plateau", Tensor::Of<double>({0.125, 3, 2, 1}, {4}));
  ASSERT_EQ(Save(state), absl::OkStatus());
  const auto plateau = [this] {
    const absl::StatusOr<StartingState> resumed = Resume();
    EXPECT_TRUE(resumed.ok()) << resumed.status();
    return resumed->state.schedule.At("plateau").ToDoubles();
  };
  EXPECT_THAT(plateau(), ElementsAre(0.125, 3, 2, 1));
  options_.optimizer.learning_rate = 0.25;
  EXPECT_THAT(plateau(), ElementsAre(0.0625, 3, 2, 1));
  options_.optimizer.learning_rate = 1;
  EXPECT_THAT(plateau(), ElementsAre(0.25, 3, 2, 1));
  options_.optimizer.learning_rate = 0.25;
  options_.schedule.min_learning_rate = 0.1;
  EXPECT_THAT(plateau(), ElementsAre(0.1, 3, 2, 1));
  state.schedule.Set("plateau", Tensor::Of<double>({1}));
  ASSERT_EQ(Save(state), absl::OkStatus());
  EXPECT_THAT(plateau(), ElementsAre(1));  // the schedule refuses it by name
}

}  // namespace
}  // namespace rutile
