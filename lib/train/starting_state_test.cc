#include "lib/train/starting_state.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/task/sampling_policy.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/testing/toy_task.h"
#include "lib/train/checkpoint.h"
#include "lib/train/run_directory.h"
#include "lib/train/run_plan.h"
#include "lib/train/split.h"
#include "lib/train/trainer_options.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

class StartingStateTest : public ::testing::Test {
 protected:
  StartingStateTest() {
    EXPECT_TRUE(directory_.Open(RunMode::kOverwrite).ok());
    options_.seed = 4;
  }

  absl::Status Save(const Checkpoint& state) {
    return SaveCheckpoint(directory_.checkpoint(), state, task_.parameter_slices(), {});
  }
  RunPlan Plan(int64_t num_batches = 2) const {
    RunPlan plan;
    plan.options = options_;
    plan.train = split_.train;
    plan.validation = split_.validation;
    plan.num_batches = num_batches;
    return plan;
  }
  absl::StatusOr<Checkpoint> Resume(int64_t num_batches = 2) {
    return ResumedState(task_, Plan(num_batches), directory_);
  }

  ToyTask task_{ToyTaskOptions()};
  Split split_{{0, 1, 2}, {3}, {}};
  TrainerOptions options_;
  RunDirectory directory_{::testing::TempDir() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name()};
};

TEST_F(StartingStateTest, NewRunsStartAtTheSeedsParameters) {
  const Checkpoint state = NewState(task_, Plan());
  EXPECT_EQ(state.parameters.ToDoubles(), task_.InitialParameters(4).ToDoubles());
  EXPECT_EQ(state.epoch, 0);
  EXPECT_EQ(state.best_epoch, 0);
  EXPECT_EQ(state.loss_weight.size(), 2u);
}

TEST_F(StartingStateTest, ResumedRunsStartWhereTheyWere) {
  Checkpoint state = NewState(task_, Plan());
  state.epoch = 3;
  state.batch = 2;
  ASSERT_EQ(Save(state), absl::OkStatus());
  const absl::StatusOr<Checkpoint> resumed = Resume();
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_EQ(resumed->epoch, 3);
  EXPECT_EQ(resumed->batch, 2);
  EXPECT_EQ(resumed->parameters.ToDoubles(), state.parameters.ToDoubles());
}

TEST_F(StartingStateTest, RefusesAnotherRun) {
  ASSERT_EQ(Save(NewState(task_, Plan())), absl::OkStatus());
  options_.batch_size = 7;
  EXPECT_EQ(Resume().status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Resume().status().message()), HasSubstr("batch_size is 7"));
  options_.batch_size = 32;
  split_.train = {0, 1, 4};
  EXPECT_EQ(Resume().status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Resume().status().message()), HasSubstr("other examples or another split"));
}

TEST_F(StartingStateTest, RefusesABatchThatIsNotThere) {
  Checkpoint state = NewState(task_, Plan());
  state.batch = 3;
  ASSERT_EQ(Save(state), absl::OkStatus());
  EXPECT_THAT(std::string(Resume().status().message()), HasSubstr("batch 3 of 2; the file is damaged"));
}

TEST_F(StartingStateTest, WeightsMustFitTheExamples) {
  options_.sampling_policy = SamplingPolicy::kErrorWeighted;
  Checkpoint state = NewState(task_, Plan());
  state.sampling_weight = {};
  ASSERT_EQ(Save(state), absl::OkStatus());
  EXPECT_TRUE(Resume().ok());  // between epochs there are none
  state.batch = 1;
  for (const std::vector<double>& wrong :
       {std::vector<double>{}, {1, 2}, {0, 0, 0}, {1, 2, -1}, {1, 2, std::stod("nan")}, {1, 2, std::stod("inf")}}) {
    state.sampling_weight = wrong;
    ASSERT_EQ(Save(state), absl::OkStatus());
    EXPECT_EQ(Resume().status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(Resume().status().message()), HasSubstr("\"sampling_weight\" is no weight for each of"));
  }
  state.sampling_weight = {0, 1, 2};
  ASSERT_EQ(Save(state), absl::OkStatus());
  EXPECT_EQ(Resume()->sampling_weight, state.sampling_weight);
}

}  // namespace
}  // namespace rutile
