#include "lib/testing/toy_task.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/tensorfile/tensor_reader.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;

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
