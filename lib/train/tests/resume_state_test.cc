// What a resumed run makes of the state of its optimizer and schedule when options change.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/optimizer/optimizer_options.h"
#include "lib/optimizer/parameter_groups.h"
#include "lib/optimizer/schedule/schedule.h"
#include "lib/task/parameter_slice.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/testing/error_names.h"
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

// x = y + (1 - 1 / beta1) (z - y) is the model of a schedule-free optimizer, here of one group: weight or bias.
TEST_F(ResumeStateTest, AScheduleFreeGroupGoesOnAtItsModel) {
  const auto go_on = [this](const char* optimizer, const char* groups, const NamedTensors& state) {
    options_.optimizer = DefaultOptimizerOptions(optimizer).value();
    options_.optimizer.beta1 = 0.5;
    options_.groups.groups = ParseParameterGroups(groups, options_.optimizer).value();
    options_.groups.alternate_steps = 0;
    Checkpoint then = NewState(task_, Plan());
    then.parameters = Tensor::Of<double>({1, 2, 3, 4});
    then.optimizer = state;
    EXPECT_EQ(Save(then), absl::OkStatus());
    options_.groups.alternate_steps = 2;
    options_.overrides = {"alternate_groups"};
    return Resume();
  };
  NamedTensors bias, weight, none;
  bias.Set("group0.z", Tensor::Of<double>({10}));
  bias.Set("group0.step", Tensor::Scalar<int64_t>(3));
  weight.Set("group1.z", Tensor::Of<double>({10, 2, 3}));
  weight.Set("group1.step", Tensor::Scalar<int64_t>(3));
  none.Set("group0.z", Tensor::Of<double>({0}));  // before the group's first turn
  none.Set("group0.step", Tensor::Scalar<int64_t>(0));
  constexpr char kBias[] = "bias:optimizer=schedule-free-adamw,beta1=0.25";
  absl::StatusOr<StartingState> start = go_on("adam", kBias, bias);
  ASSERT_TRUE(start.ok()) << start.status();
  EXPECT_TRUE(start->new_parts.optimizer);
  EXPECT_THAT(start->state.parameters.ToDoubles(), ElementsAre(1, 2, 3, 4 - 3 * 6));
  start = go_on("schedule-free-adamw", "bias:optimizer=sgd", weight);
  ASSERT_TRUE(start.ok()) << start.status();
  EXPECT_THAT(start->state.parameters.ToDoubles(), ElementsAre(1 - 9, 2, 3, 4));
  start = go_on("adam", kBias, none);
  ASSERT_TRUE(start.ok()) << start.status();
  EXPECT_THAT(start->state.parameters.ToDoubles(), ElementsAre(1, 2, 3, 4));
  bias.Set("group0.z", Tensor::Of<double>({10, 11}));
  EXPECT_THAT(go_on("adam", kBias, bias).status(),
              ErrorNames(absl::StatusCode::kFailedPrecondition, {"group0.z", "2 numbers", "expected 1", "damaged"}));
  weight.Set("group7.z", Tensor::Of<double>({10}));
  EXPECT_THAT(go_on("schedule-free-adamw", "bias:optimizer=sgd", weight).status(),
              ErrorNames(absl::StatusCode::kFailedPrecondition, {"group7.z", "damaged"}));
}

class BufferedToy : public ToyTask {
 public:
  BufferedToy() : ToyTask(ToyTaskOptions()) {}
  std::vector<ParameterSlice> parameter_slices() const override {
    std::vector<ParameterSlice> slices = ToyTask::parameter_slices();
    slices[0].buffer = true;
    return slices;
  }
};

// The optimizer's z leaves out buffers, such as the statistics of batch norms.
TEST_F(ResumeStateTest, BuffersAreNoPartOfAScheduleFreeModel) {
  const BufferedToy task;
  options_.optimizer = DefaultOptimizerOptions("schedule-free-adamw").value();
  options_.optimizer.beta1 = 0.5;
  Checkpoint then = NewState(task, Plan());
  then.parameters = Tensor::Of<double>({1, 2, 3, 4});
  then.optimizer.Set("z", Tensor::Of<double>({10}));
  then.optimizer.Set("step", Tensor::Scalar<int64_t>(1));
  ASSERT_EQ(Save(then), absl::OkStatus());
  options_.optimizer = DefaultOptimizerOptions("adam").value();
  options_.overrides = {"all"};
  const absl::StatusOr<StartingState> start = ResumedState(task, Plan(), directory_);
  ASSERT_TRUE(start.ok()) << start.status();
  EXPECT_THAT(start->state.parameters.ToDoubles(), ElementsAre(1, 2, 3, 4 - 6));
}

}  // namespace
}  // namespace rutile
