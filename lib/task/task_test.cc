#include "lib/task/task.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/task/example_sampling.h"
#include "lib/task/loss_terms.h"
#include "lib/task/model_sharding.h"
#include "lib/task/sampling_policy.h"
#include "lib/task/torch/reference_gradients.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/testing/error_names.h"
#include "lib/testing/toy_task.h"

namespace rutile {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

TEST(TaskTest, NumParametersIsTheEndOfTheLastSlice) {
  ToyTaskOptions options;
  options.num_features = 5;
  EXPECT_EQ(ToyTask(options).num_parameters(), 6);
}

// A task of the methods that have no default.
class PlainTask : public Task {
 public:
  int64_t num_examples() const override { return toy_.num_examples(); }
  double ExampleCost(int64_t example) const override { return toy_.ExampleCost(example); }
  absl::Status MakeBatch(absl::Span<const int64_t> examples, NamedTensors* batch) const override {
    return toy_.MakeBatch(examples, batch);
  }
  DType parameter_dtype() const override { return toy_.parameter_dtype(); }
  std::vector<ParameterSlice> parameter_slices() const override { return toy_.parameter_slices(); }
  Tensor InitialParameters(uint64_t seed) const override { return toy_.InitialParameters(seed); }
  std::vector<LossTerm> terms() const override { return toy_.terms(); }
  Loss CombineTerms(const TermSums& sums) const override { return toy_.CombineTerms(sums); }
  at::Tensor ExampleLosses(const at::Tensor& parameters, const NamedTensors& batch) const override {
    return toy_.ExampleLosses(parameters, batch);
  }
  std::vector<double> ExampleCounts(const NamedTensors& batch) const override { return toy_.ExampleCounts(batch); }
  int num_metric_sums() const override { return toy_.num_metric_sums(); }
  absl::Status Evaluate(const Tensor& parameters, const NamedTensors& batch, TermSums* sums,
                        absl::Span<double> metric_sums) override {
    return toy_.Evaluate(parameters, batch, sums, metric_sums);
  }
  std::vector<Metric> Metrics(absl::Span<const double> metric_sums) const override { return toy_.Metrics(metric_sums); }
  absl::Status WriteModel(absl::string_view path, const Tensor& parameters, const Metadata& extra) const override {
    return toy_.WriteModel(path, parameters, extra);
  }

 private:
  ToyTask toy_{ToyTaskOptions{}};
};

TEST(TaskTest, ByDefaultNothingIsKept) {
  PlainTask task;
  EXPECT_TRUE(task.State().empty());
  EXPECT_TRUE(task.SetState(NamedTensors()).ok());
  NamedTensors state;
  state.Set("last_error", Tensor::Scalar<double>(1));
  EXPECT_THAT(task.SetState(state), ErrorNames(absl::StatusCode::kInvalidArgument, {"'last_error'"}));
}

TEST(TaskTest, ByDefaultThereAreNoCapabilities) {
  PlainTask task;
  const Task& constant = task;
  EXPECT_EQ(task.stream(), nullptr);
  EXPECT_EQ(constant.stream(), nullptr);
  EXPECT_EQ(task.sharding(), nullptr);
  EXPECT_EQ(constant.sharding(), nullptr);
  EXPECT_FALSE(SynchronizesBatches(task));
  EXPECT_EQ(task.sampling(), nullptr);
  EXPECT_EQ(task.eager(), nullptr);
  EXPECT_THAT(SamplingWeightsOf(task, SamplingPolicy::kErrorWeighted, {0, 1}),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"sampling_policy is error_weighted"}));
}

TEST(TaskTest, SamplingWeightsAreThoseOfTheCapability) {
  ToyTask task(ToyTaskOptions{});
  EXPECT_EQ(SamplingWeightsOf(task, SamplingPolicy::kEnergyWeighted, {0, 1, 2}).value(),
            task.SamplingWeights(SamplingPolicy::kEnergyWeighted, {0, 1, 2}));
}

class GradientsTest : public ::testing::TestWithParam<DType> {
 protected:
  GradientsTest() {
    ToyTaskOptions options;
    options.dtype = GetParam();
    task_ = std::make_unique<ToyTask>(options);
    parameters_ = task_->InitialParameters(2);
    EXPECT_TRUE(task_->MakeBatch({0, 4, 3, 8, 9}, &batch_).ok());
    for (int i = 0; i < 2; ++i) {
      gradients_.push_back(Tensor::Zeros(GetParam(), parameters_.shape()));
      reference_.push_back(Tensor::Zeros(GetParam(), parameters_.shape()));
    }
  }

  std::unique_ptr<ToyTask> task_;
  Tensor parameters_;
  NamedTensors batch_;
  std::vector<Tensor> gradients_, reference_;
};

// The reference leaves gradients of frozen parameters unchanged and computes the others as always.
TEST_P(GradientsTest, ReferenceLeavesOutWhatRests) {
  TermSums sums(2), all_sums(2);
  ASSERT_TRUE(ReferenceGradients(*task_, parameters_, batch_, absl::MakeSpan(reference_), &all_sums).ok());
  const int64_t f = parameters_.num_elements() - 1;  // the bias is last
  for (const bool bias_rests : {true, false}) {
    task_->Task::SetFrozen({!bias_rests, bias_rests});
    for (Tensor& gradient : gradients_) gradient = Tensor::Zeros(GetParam(), parameters_.shape());
    sums = TermSums(2);
    ASSERT_TRUE(ReferenceGradients(*task_, parameters_, batch_, absl::MakeSpan(gradients_), &sums).ok());
    EXPECT_EQ(sums.sum, all_sums.sum);
    for (int t = 0; t < 2; ++t) {
      const std::vector<double> found = gradients_[t].ToDoubles(), all = reference_[t].ToDoubles();
      for (int64_t i = 0; i <= f; ++i) EXPECT_EQ(found[i], (i == f) == bias_rests ? 0 : all[i]) << i;
    }
  }
  task_->SetFrozen({});
  EXPECT_TRUE(task_->frozen().empty());
}

TEST_P(GradientsTest, ReferenceEqualsClosedForm) {
  const double tolerance = GetParam() == DType::kF32 ? 2e-6 : 1e-13;
  TermSums sums(2), reference_sums(2);
  // Twice, since both add to what is there.
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(task_->AccumulateGradients(parameters_, batch_, absl::MakeSpan(gradients_), &sums).ok());
    ASSERT_TRUE(ReferenceGradients(*task_, parameters_, batch_, absl::MakeSpan(reference_), &reference_sums).ok());
  }
  for (int t = 0; t < 2; ++t) {
    EXPECT_THAT(reference_[t].ToDoubles(), Pointwise(DoubleNear(tolerance * 20), gradients_[t].ToDoubles()));
    EXPECT_NEAR(reference_sums.sum[t], sums.sum[t], tolerance * sums.sum[t]);
  }
  EXPECT_THAT(reference_sums.count, ElementsAre(10, 6));  // examples 0, 3 and 9 have a slope
}

TEST_P(GradientsTest, DefaultIsTheReference) {
  TermSums sums(2), reference_sums(2);
  ASSERT_TRUE(task_->Task::AccumulateGradients(parameters_, batch_, absl::MakeSpan(gradients_), &sums).ok());
  ASSERT_TRUE(ReferenceGradients(*task_, parameters_, batch_, absl::MakeSpan(reference_), &reference_sums).ok());
  for (int t = 0; t < 2; ++t) EXPECT_EQ(gradients_[t].ToDoubles(), reference_[t].ToDoubles());
  EXPECT_EQ(sums.sum, reference_sums.sum);
}

// A view of the parameters is differentiated, not the parameters themselves.
TEST_P(GradientsTest, ParametersStayAsTheyAre) {
  const std::vector<double> before = parameters_.ToDoubles();
  TermSums sums(2);
  ASSERT_TRUE(ReferenceGradients(*task_, parameters_, batch_, absl::MakeSpan(reference_), &sums).ok());
  EXPECT_EQ(parameters_.ToDoubles(), before);
}

INSTANTIATE_TEST_SUITE_P(Types, GradientsTest, ::testing::Values(DType::kF32, DType::kF64));

}  // namespace
}  // namespace rutile
