#include "lib/train/step/row_steps.h"

#include <ATen/ATen.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/distributed/thread_communicator.h"
#include "lib/optimizer/optimizer_options.h"
#include "lib/task/gradients/gradient_stream.h"
#include "lib/testing/error_names.h"
#include "lib/testing/toy_task.h"
#include "lib/train/step/first_batch_check.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The first term of the toy task, whose gradient comes as two rows.
class RowToy : public ToyTask, public GradientStream, public RowGradients {
 public:
  RowToy() : ToyTask({}) {}
  GradientStream* stream() override { return this; }
  bool has_rows() const override { return rows; }
  std::vector<GradientRange> EarlyGradients() const override { return {}; }
  std::vector<LossTerm> terms() const override { return {{"value", "V^2"}}; }
  at::Tensor ExampleLosses(const at::Tensor& parameters, const NamedTensors& batch) const override {
    return ToyTask::ExampleLosses(parameters, batch).narrow(1, 0, 1);
  }
  std::vector<double> ExampleCounts(const NamedTensors& batch) const override {
    return std::vector<double>(batch.At("y").num_elements(), 1.0);
  }
  absl::Status AccumulateGradients(const Tensor& parameters, const NamedTensors& batch, absl::Span<Tensor> gradients,
                                   TermSums* sums) override {
    return StreamGradients(parameters, batch, GradientDelivery::Add(), &gradients[0], sums);
  }
  absl::Status StreamGradients(const Tensor& parameters, const NamedTensors& batch,
                               const GradientDelivery& /*delivery*/, Tensor* gradient, TermSums* sums) override {
    std::vector<Tensor> both = {*gradient, Tensor::Zeros(DType::kF64, {num_parameters()})};
    TermSums of_both(2);
    const absl::Status status = ToyTask::AccumulateGradients(parameters, batch, absl::MakeSpan(both), &of_both);
    sums->sum[0] += of_both.sum[0];
    sums->count[0] += of_both.count[0];
    return status;
  }
  absl::Status ComputeRows(const Tensor& parameters, const NamedTensors& batch, RowGradient* gradient,
                           TermSums* sums) override {
    ++calls;
    gradient->values = Tensor::Zeros(DType::kF64, {num_parameters()});
    gradient->ranges = {{0, 2, 0}, {2, num_parameters() - 2, 2}};
    const absl::Status status = StreamGradients(parameters, batch, GradientDelivery::Add(), &gradient->values, sums);
    if (wrong) gradient->ranges[1].at = 1;
    return status;
  }

  bool rows = true, wrong = false;
  int calls = 0;
};

TrainerOptions RowOptions() {
  TrainerOptions options;
  options.optimizer = DefaultOptimizerOptions("rowwise-adagrad").value();
  return options;
}

TEST(RowStepsTest, NamesTheSettingThatNeedsAllRows) {
  RowToy task;
  EXPECT_EQ(WhyDenseSteps(RowOptions(), task), "");
  EXPECT_EQ(RowsOfSteps(RowOptions(), task), &task);
  const auto why = [&](const TrainerOptions& options) {
    EXPECT_EQ(RowsOfSteps(options, task), nullptr);
    return WhyDenseSteps(options, task);
  };
  TrainerOptions options = RowOptions();
  options.accumulate_grad_batches = 2;
  EXPECT_THAT(why(options), HasSubstr("accumulate_grad_batches"));
  options = RowOptions();
  options.compile_mode = CompileMode::kNone;
  EXPECT_THAT(why(options), HasSubstr("compile_mode none"));
  options = RowOptions();
  options.groups.alternate_steps = 3;
  EXPECT_THAT(why(options), HasSubstr("alternate_steps"));
  options = RowOptions();
  options.groups.groups.emplace_back().optimizer = DefaultOptimizerOptions("adam").value();
  EXPECT_THAT(why(options), HasSubstr("optimizer adam of a parameter group"));
  options.groups.lazy_rows = true;
  EXPECT_EQ(WhyDenseSteps(options, task), "");
  options = RowOptions();
  options.optimizer = DefaultOptimizerOptions("adam").value();
  EXPECT_THAT(why(options), HasSubstr("optimizer adam moves rows"));
  options = RowOptions();
  RunAsThreads(2, [&](Communicator* communicator) {
    if (communicator->rank() != 0) return;
    TrainerOptions of_two = RowOptions();
    of_two.communicator = communicator;
    EXPECT_THAT(why(of_two), HasSubstr("several processes"));
  });
  task.rows = false;
  EXPECT_THAT(why(RowOptions()), HasSubstr("negatives_per_batch"));
  options.optimizer = DefaultOptimizerOptions("adam").value();
  EXPECT_EQ(why(options), "");
}

TEST(RowStepsTest, AddsRowsWhereTheyBelong) {
  RowGradient rows;
  rows.ranges = {{1, 2, 0}, {5, 1, 3}};
  rows.values = Tensor::Of<float>({1, 2, 99, 3});
  Tensor gradient = Tensor::Of<float>({10, 10, 10, 10, 10, 10});
  AddRows(rows, &gradient);
  EXPECT_THAT(gradient.values<float>(), ElementsAre(10, 11, 12, 10, 10, 13));
}

// The check of the first batch is of what the steps use.
TEST(RowStepsTest, FirstBatchIsCheckedByRows) {
  RowToy task;
  const Tensor parameters = task.InitialParameters(1);
  EXPECT_EQ(CheckFirstBatch(task, parameters, {0, 1, 2, 3}, RowOptions(), 0), absl::OkStatus());
  EXPECT_EQ(task.calls, 1);
  task.wrong = true;
  EXPECT_THAT(CheckFirstBatch(task, parameters, {0, 1, 2, 3}, RowOptions(), 0),
              ErrorNames(absl::StatusCode::kFailedPrecondition, {"d value / d"}));
  TrainerOptions dense = RowOptions();
  dense.optimizer = DefaultOptimizerOptions("adam").value();
  const int before = task.calls;
  EXPECT_EQ(CheckFirstBatch(task, parameters, {0, 1, 2, 3}, dense, 0), absl::OkStatus());
  EXPECT_EQ(task.calls, before);
}

}  // namespace
}  // namespace rutile
