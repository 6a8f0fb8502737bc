#include "lib/task/torch/eager_evaluation.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/task/eager_options.h"
#include "lib/task/torch/eager_task.h"
#include "lib/testing/toy_task.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

class DeviceTask : public ToyTask, public EagerTask {
 public:
  using ToyTask::ToyTask;
  const EagerTask* eager() const override { return this; }
  at::Tensor EagerLosses(const at::Tensor& parameters, const NamedTensors& batch,
                         const EagerOptions& options) const override {
    return ExampleLosses(parameters, batch);
  }
  bool EvaluatesOnDevices() const override { return evaluates; }
  void EvaluateEager(const at::Tensor& parameters, const NamedTensors& batch, TermSums* sums,
                     absl::Span<double> metric_sums) const override {
    TORCH_CHECK(!fails, "out of ", "memory");
    EXPECT_FALSE(at::GradMode::is_enabled());
    sums->sum[0] += parameters.sum().item<double>();
    sums->count[0] += 1;
    metric_sums[0] += 2;
  }

  bool fails = false;
  bool evaluates = true;
};

TEST(EagerEvaluationTest, AddsUpOnTheDevice) {
  DeviceTask task(ToyTaskOptions{});
  const Tensor parameters = task.InitialParameters(3);
  EagerEvaluation evaluation(task, parameters, "cpu");
  NamedTensors batch;
  ASSERT_TRUE(task.MakeBatch(std::vector<int64_t>{1, 2}, &batch).ok());
  TermSums sums(static_cast<int>(task.terms().size()));
  std::vector<double> metrics(task.num_metric_sums());
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(evaluation.Add(batch, &sums, absl::MakeSpan(metrics)).ok());
  double expected = 0;
  for (const double x : parameters.ToDoubles()) expected += x;
  EXPECT_NEAR(sums.sum[0], 2 * expected, 1e-6);
  EXPECT_EQ(sums.count[0], 2);
  EXPECT_EQ(metrics[0], 4);
  task.fails = true;
  const absl::Status status = evaluation.Add(batch, &sums, absl::MakeSpan(metrics));
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("LibTorch: out of memory"));
}

TEST(EagerEvaluationTest, OnlyTasksThatEvaluateOnDevices) {
  DeviceTask task(ToyTaskOptions{});
  EXPECT_TRUE(EvaluatesOnDevices(task));
  EXPECT_FALSE(EvaluatesOnDevices(ToyTask(ToyTaskOptions{})));
  task.evaluates = false;
  EXPECT_FALSE(EvaluatesOnDevices(task));
  EXPECT_DEATH(EagerEvaluation(task, task.InitialParameters(3), "cpu"), "EvaluatesOnDevices");
}

TEST(EagerEvaluationTest, SaysThatTheDeviceIsNotThere) {
  if (at::getNumGPUs() > 0) return;
  DeviceTask task(ToyTaskOptions{});
  EagerEvaluation evaluation(task, task.InitialParameters(3), "cuda:0");
  TermSums sums(static_cast<int>(task.terms().size()));
  EXPECT_THAT(std::string(evaluation.Add(NamedTensors(), &sums, {}).message()), HasSubstr("LibTorch: "));
}

}  // namespace
}  // namespace rutile
