#include "lib/train/step/first_batch_check.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/task/task.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/testing/toy_task.h"
#include "lib/train/options/trainer_options.h"

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

// A task whose first calls return another gradient, as if an activation were within rounding of a kink.
class KinkTask : public ToyTask {
 public:
  KinkTask(const ToyTaskOptions& options, int wrong_calls) : ToyTask(options), wrong_calls_(wrong_calls) {}

  absl::Status AccumulateGradients(const Tensor& parameters, const NamedTensors& batch, absl::Span<Tensor> gradients,
                                   TermSums* sums) override {
    const absl::Status status = ToyTask::AccumulateGradients(parameters, batch, gradients, sums);
    if (++calls_ <= wrong_calls_) gradients[0].mutable_values<double>()[1] += 1;
    return status;
  }

 private:
  const int wrong_calls_;
  int calls_ = 0;
};

// A task that rounds unless mixed precision is switched off.
class MixedTask : public ToyTask {
 public:
  using ToyTask::ToyTask;

  absl::Status AccumulateGradients(const Tensor& parameters, const NamedTensors& batch, absl::Span<Tensor> gradients,
                                   TermSums* sums) override {
    const absl::Status status = ToyTask::AccumulateGradients(parameters, batch, gradients, sums);
    if (mixed_) gradients[0].mutable_values<double>()[1] *= 1.01;
    return status;
  }
  void SetMixedPrecision(bool on) override { mixed_ = on; }
  bool mixed() const { return mixed_; }

 private:
  bool mixed_ = true;
};

TEST(CheckFirstBatchTest, MixedPrecisionIsOffMeanwhile) {
  MixedTask task{ToyTaskOptions()};
  EXPECT_EQ(CheckFirstBatch(task, task.InitialParameters(1), {0, 1, 2, 3}, TrainerOptions(), 0), absl::OkStatus());
  EXPECT_TRUE(task.mixed());
}

TEST(CheckFirstBatchTest, AKinkIsNotAMistake) {
  TrainerOptions options;
  options.check_cost = 2;
  const auto check = [&](int wrong_calls, const std::vector<int64_t>& examples) {
    KinkTask task(ToyTaskOptions(), wrong_calls);
    return CheckFirstBatch(task, task.InitialParameters(1), examples, options, 0).code();
  };
  EXPECT_EQ(check(1, {0, 1, 2, 3}), absl::StatusCode::kOk);
  EXPECT_EQ(check(2, {0, 1, 2, 3, 4, 5}), absl::StatusCode::kOk);
  EXPECT_EQ(check(3, {0, 1, 2, 3, 4, 5, 6, 7}), absl::StatusCode::kFailedPrecondition);
  // There are no other examples to try, or too few.
  EXPECT_EQ(check(1, {0, 1}), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(check(1, {0, 1, 2}), absl::StatusCode::kFailedPrecondition);
}

// One example that is not finite is left to the epoch, which reports the step and keeps the batch. If all examples are
// like this, the error names one.
TEST(CheckFirstBatchTest, DataThatIsNotFiniteIsNoMistake) {
  ToyTaskOptions toy;
  toy.nan_example = 1;
  ToyTask task(toy);
  TrainerOptions options;
  const absl::Status status = CheckFirstBatch(task, task.InitialParameters(1), {3, 1, 2, 0}, options, 0);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("example 1 (from 0) cannot be learned from"));
  EXPECT_THAT(std::string(status.message()), ::testing::Not(HasSubstr("bug")));
  options.check_cost = 2;
  EXPECT_EQ(CheckFirstBatch(task, task.InitialParameters(1), {3, 1, 2, 0}, options, 0), absl::OkStatus());
}

// Batches larger than the check needs are not even made.
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
