#include "lib/testing/gradient_check.h"

#include <ATen/ATen.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/testing/toy_task.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

absl::Status Check(Task& task, const GradientCheckOptions& options = {}) {
  NamedTensors batch;
  EXPECT_TRUE(task.MakeBatch({0, 1, 2, 3, 4, 5, 6}, &batch).ok());
  return CheckGradients(task, task.InitialParameters(1), batch, options);
}

TEST(GradientCheckTest, PassesWhatIsRight) {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    ToyTaskOptions options;
    options.dtype = dtype;
    ToyTask task(options);
    EXPECT_EQ(Check(task), absl::OkStatus());
  }
}

TEST(GradientCheckTest, NamesTheWrongElement) {
  ToyTaskOptions options;
  options.wrong_gradient = true;
  ToyTask task(options);
  EXPECT_THAT(std::string(Check(task).message()), HasSubstr("d value / d weight[0, 2] is"));
  GradientCheckOptions loose;
  loose.tolerance = 0.1;
  EXPECT_EQ(Check(task, loose), absl::OkStatus());
}

TEST(GradientCheckTest, NamesTheWrongSum) {
  ToyTaskOptions options;
  options.wrong_sum = true;
  ToyTask task(options);
  EXPECT_THAT(std::string(Check(task).message()), HasSubstr("the sum of term \"value\""));
}

// A task whose losses are partly detached from the graph, as by an error in a hand-written operation.
class DetachedTask : public ToyTask {
 public:
  DetachedTask() : ToyTask(ToyTaskOptions()) {}
  at::Tensor ExampleLosses(const at::Tensor& parameters, const NamedTensors& batch) const override {
    const at::Tensor losses = ToyTask::ExampleLosses(parameters, batch);
    return losses * 0.5 + losses.detach() * 0.5;
  }
  absl::Status AccumulateGradients(const Tensor& parameters, const NamedTensors& batch, absl::Span<Tensor> gradients,
                                   TermSums* sums) override {
    return Task::AccumulateGradients(parameters, batch, gradients, sums);
  }
};

TEST(GradientCheckTest, FiniteDifferencesFindAWrongReference) {
  DetachedTask task;
  EXPECT_THAT(std::string(Check(task).message()), HasSubstr("d value along random direction 0"));
}

}  // namespace
}  // namespace rutile
