#include "lib/train/first_batch_check.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/testing/toy_task.h"
#include "lib/train/trainer_options.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<int64_t> Checked(double example_cost, double check_cost, int64_t batch_size) {
  ToyTaskOptions toy;
  toy.example_cost = example_cost;
  TrainerOptions options;
  options.check_cost = check_cost;
  options.batch_size = batch_size;
  const std::vector<int64_t> examples = {7, 5, 3, 1, 8};
  const absl::Span<const int64_t> checked = ExamplesToCheck(ToyTask(toy), examples, options);
  return {checked.begin(), checked.end()};
}

TEST(ExamplesToCheckTest, CostAndBatchSizeAreLimits) {
  EXPECT_THAT(Checked(20, 64, 32), ElementsAre(7, 5, 3));
  EXPECT_THAT(Checked(32, 64, 32), ElementsAre(7, 5));
  EXPECT_THAT(Checked(1, 64, 32), ElementsAre(7, 5, 3, 1, 8));
  EXPECT_THAT(Checked(1, 64, 4), ElementsAre(7, 5, 3, 1));
}

TEST(ExamplesToCheckTest, OneAtLeast) {
  EXPECT_THAT(Checked(1000, 64, 32), ElementsAre(7));
  EXPECT_THAT(Checked(1, 0, 32), ElementsAre(7));
}

TEST(CheckFirstBatchTest, RefusesAWrongGradientInTrainingsEpoch) {
  ToyTaskOptions toy;
  ToyTask right(toy);
  TrainerOptions options;
  EXPECT_EQ(CheckFirstBatch(right, right.InitialParameters(1), {0, 1, 2, 3}, options, 5), absl::OkStatus());
  EXPECT_THAT(right.epochs(), ElementsAre("train 5"));
  toy.wrong_gradient = true;
  ToyTask wrong(toy);
  const absl::Status status = CheckFirstBatch(wrong, wrong.InitialParameters(1), {0, 1, 2, 3}, options, 0);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("d value / d weight[0, 2]"));
  options.gradient_tolerance = 0.1;
  EXPECT_EQ(CheckFirstBatch(wrong, wrong.InitialParameters(1), {0, 1, 2, 3}, options, 0), absl::OkStatus());
}

// What is too much for the check is not even made.
TEST(CheckFirstBatchTest, MakesNoMoreThanItChecks) {
  ToyTaskOptions toy;
  toy.failing_example = 2;
  ToyTask task(toy);
  TrainerOptions options;
  EXPECT_FALSE(CheckFirstBatch(task, task.InitialParameters(1), {0, 1, 2, 3}, options, 0).ok());
  options.check_cost = 2;
  EXPECT_EQ(CheckFirstBatch(task, task.InitialParameters(1), {0, 1, 2, 3}, options, 0), absl::OkStatus());
}

}  // namespace
}  // namespace rutile
