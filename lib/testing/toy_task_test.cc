#include "lib/testing/toy_task.h"

#include <cmath>
#include <numeric>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/task/sampling_policy.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_reader.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(ToyTaskTest, TrueParametersHaveNoLoss) {
  ToyTask task({});
  const Tensor parameters = Tensor::Of(task.true_parameters());
  NamedTensors batch;
  ASSERT_TRUE(task.MakeBatch({0, 1, 2, 3, 4}, &batch).ok());
  TermSums sums(2);
  std::vector<double> metric_sums(2);
  ASSERT_TRUE(task.Evaluate(parameters, batch, &sums, absl::MakeSpan(metric_sums)).ok());
  EXPECT_THAT(sums.count, ElementsAre(5, 2));  // examples 0 and 3 have a slope
  EXPECT_LT(task.CombineTerms(sums).value, 1e-28);
  EXPECT_LT(task.Metrics(metric_sums)[0].value, 1e-14);
}

TEST(ToyTaskTest, BatchReusesItsMemory) {
  const ToyTask task({});
  NamedTensors batch;
  ASSERT_TRUE(task.MakeBatch({0, 1}, &batch).ok());
  const void* memory = batch.At("x").data();
  ASSERT_TRUE(task.MakeBatch({2, 3}, &batch).ok());
  EXPECT_EQ(batch.At("x").data(), memory);
}

TEST(ToyTaskTest, FailsWhereAsked) {
  ToyTaskOptions options;
  options.failing_example = 3;
  const ToyTask task(options);
  NamedTensors batch;
  EXPECT_TRUE(task.MakeBatch({2}, &batch).ok());
  EXPECT_FALSE(task.MakeBatch({2, 3}, &batch).ok());
}

TEST(ToyTaskTest, ThirdTermIsThereWhenAskedFor) {
  ToyTaskOptions options;
  options.strain_every = 5;
  ToyTask task(options);
  ASSERT_THAT(task.terms(), SizeIs(3));
  EXPECT_EQ(task.terms()[2].name, "strain");
  NamedTensors batch;
  ASSERT_TRUE(task.MakeBatch({3, 4, 9, 9}, &batch).ok());
  TermSums sums(3);
  std::vector<double> metric_sums(2);
  ASSERT_TRUE(task.Evaluate(Tensor::Of(task.true_parameters()), batch, &sums, absl::MakeSpan(metric_sums)).ok());
  EXPECT_THAT(sums.count, ElementsAre(4, 3, 3));
  EXPECT_LT(task.CombineTerms(sums).value, 1e-28);
  EXPECT_THAT(ToyTask({}).terms(), SizeIs(2));
}

TEST(ToyTaskTest, SlopesAreResampledInTrainingAlone) {
  ToyTaskOptions options;
  options.num_examples = 300;
  options.slope_fraction = 0.3;
  ToyTask task(options);
  std::vector<int64_t> all(300);
  std::iota(all.begin(), all.end(), 0);
  const auto slopes = [&](int64_t epoch, bool training) {
    task.StartEpoch(epoch, training);
    NamedTensors batch;
    EXPECT_TRUE(task.MakeBatch(all, &batch).ok());
    return batch.At("has_slope").ToDoubles();
  };
  const std::vector<double> first = slopes(0, true);
  const double count = std::accumulate(first.begin(), first.end(), 0.0);
  EXPECT_GT(count, 15);
  EXPECT_LT(count, 45);
  EXPECT_NE(slopes(1, true), first);
  EXPECT_EQ(slopes(0, true), first);
  const std::vector<double> whole = slopes(0, false);
  EXPECT_EQ(std::accumulate(whole.begin(), whole.end(), 0.0), 100);
}

TEST(ToyTaskTest, RemembersTheErrorsOfTraining) {
  ToyTask task({});
  NamedTensors batch;
  ASSERT_TRUE(task.MakeBatch({2, 5}, &batch).ok());
  EXPECT_TRUE(task.State().empty());
  EXPECT_THAT(task.SamplingWeights(SamplingPolicy::kErrorWeighted, {2, 5}), ElementsAre(1, 1));
  std::vector<Tensor> gradients(2, Tensor::Zeros(DType::kF64, {4}));
  TermSums sums(2);
  ASSERT_TRUE(task.AccumulateGradients(task.InitialParameters(1), batch, absl::MakeSpan(gradients), &sums).ok());
  const std::vector<double> weights = task.SamplingWeights(SamplingPolicy::kErrorWeighted, {2, 5});
  const std::vector<double> errors = task.State().At("last_error").ToDoubles();
  EXPECT_NEAR(errors[2] * errors[2] + errors[5] * errors[5], sums.sum[0], 1e-14);
  EXPECT_NEAR(weights[0] / weights[1], std::abs(errors[2] / errors[5]), 1e-12);
  EXPECT_TRUE(std::isnan(errors[3]));

  ToyTask other({});
  ASSERT_TRUE(other.SetState(task.State()).ok());
  EXPECT_EQ(other.SamplingWeights(SamplingPolicy::kErrorWeighted, {2, 5}), weights);
  ASSERT_TRUE(other.SetState(NamedTensors()).ok());
  EXPECT_TRUE(other.State().empty());
  EXPECT_THAT(other.SamplingWeights(SamplingPolicy::kErrorWeighted, {2, 5}), ElementsAre(1, 1));
  NamedTensors wrong;
  wrong.Set("last_error", Tensor::Scalar<double>(1));
  EXPECT_FALSE(other.SetState(wrong).ok());
}

TEST(ToyTaskTest, ModelHoldsTheParameters) {
  const ToyTask task({});
  const std::string path = ::testing::TempDir() + "/toy.safetensors";
  ASSERT_TRUE(task.WriteModel(path, task.InitialParameters(3), {{"epoch", "5"}}).ok());
  const TensorFile file = ReadTensorFile(path).value();
  EXPECT_EQ(file.metadata.at("kind"), "toy/1");
  EXPECT_EQ(file.metadata.at("epoch"), "5");
  EXPECT_EQ(file.tensors.At("parameters").ToDoubles(), task.InitialParameters(3).ToDoubles());
}

}  // namespace
}  // namespace rutile
