#include "lib/task/torch/gradient_comparison.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/testing/toy_task.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

const std::vector<ParameterSlice>& Slices() {
  static const auto* slices = new std::vector<ParameterSlice>{{"a.weight", 0, {2, 3}}, {"a.bias", 6, {}}};
  return *slices;
}

TEST(GradientComparisonTest, NamesParameters) {
  EXPECT_EQ(ParameterLocation(Slices(), 0), "a.weight[0, 0]");
  EXPECT_EQ(ParameterLocation(Slices(), 5), "a.weight[1, 2]");
  EXPECT_EQ(ParameterLocation(Slices(), 6), "a.bias[]");
  EXPECT_EQ(ParameterLocation(Slices(), 7), "parameter 7");
}

TEST(GradientComparisonTest, IsRelativeToTheLargest) {
  const Tensor expected = Tensor::Of<double>({0, -100, 1, 0, 0, 0, 0});
  const Tensor actual = Tensor::Of<float>({0, -100, 1, 0, 3, 0, -1});
  const GradientDifference worst = CompareGradients(Slices(), actual, expected);
  EXPECT_DOUBLE_EQ(worst.relative, 0.03);
  EXPECT_EQ(worst.location, "a.weight[1, 1]");
  EXPECT_EQ(worst.actual, 3);
  EXPECT_EQ(worst.expected, 0);
  EXPECT_EQ(CompareGradients(Slices(), expected, expected).relative, 0);
}

TEST(GradientComparisonTest, NotFiniteIsNeverClose) {
  const Tensor expected = Tensor::Of<double>({1, 1, 1, 1, 1, 1, 1});
  Tensor actual = Tensor::Of<double>({1, 1, 1, 1, 1, 1, 1});
  actual.mutable_values<double>()[3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isinf(CompareGradients(Slices(), actual, expected).relative));
  EXPECT_EQ(CompareGradients(Slices(), actual, expected).location, "a.weight[1, 0]");
}

absl::Status Check(const ToyTaskOptions& options) {
  ToyTask task(options);
  NamedTensors batch;
  EXPECT_TRUE(task.MakeBatch({0, 1, 2}, &batch).ok());
  return CheckAgainstReference(task, task.InitialParameters(0), batch, ReferenceTolerance(options.dtype));
}

TEST(GradientComparisonTest, FastAgainstReference) {
  ToyTaskOptions options;
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    options.dtype = dtype;
    options.wrong_gradient = options.wrong_sum = false;
    EXPECT_EQ(Check(options), absl::OkStatus());
    options.wrong_gradient = true;
    EXPECT_THAT(std::string(Check(options).message()), HasSubstr("d value / d weight[0, 2]"));
    options.wrong_sum = true;
    EXPECT_THAT(std::string(Check(options).message()), HasSubstr("the sum of term \"value\""));
  }
}

// A task whose sums the test chooses, with gradients that do not agree.
class TinySums : public ToyTask {
 public:
  explicit TinySums(double natural_size) : ToyTask(ToyTaskOptions{}), natural_size_(natural_size) {}
  std::vector<LossTerm> terms() const override {
    std::vector<LossTerm> terms = ToyTask::terms();
    for (LossTerm& term : terms) term.natural_size = natural_size_;
    return terms;
  }

 private:
  const double natural_size_;
};

// In ideal crystals forces are 0 but for rounding, of which the kernels have as much as the reference, and another.
TEST(GradientComparisonTest, RoundingAgreesWithRounding) {
  for (const double natural_size : {0.0, 1.0, 1e12}) {
    TinySums task(natural_size);
    NamedTensors batch;
    ASSERT_TRUE(task.MakeBatch({0, 1, 2}, &batch).ok());
    const AddGradients other = [&](absl::Span<Tensor> gradients, TermSums* sums) {
      const absl::Status status = task.AccumulateGradients(task.InitialParameters(0), batch, gradients, sums);
      for (double& sum : sums->sum) sum *= 1.01;
      for (Tensor& gradient : gradients) {
        for (double& value : gradient.mutable_values<double>()) value *= -1;
      }
      return status;
    };
    const absl::Status status = CheckAgainstReference(task, other, task.InitialParameters(0), batch, 1e-5);
    EXPECT_EQ(status.ok(), natural_size == 1e12) << status;
  }
  // One sum that is more than rounding is compared.
  TinySums task(1);
  NamedTensors batch;
  ASSERT_TRUE(task.MakeBatch({0, 1, 2}, &batch).ok());
  const AddGradients tiny = [&](absl::Span<Tensor> gradients, TermSums* sums) {
    const absl::Status status = task.AccumulateGradients(task.InitialParameters(0), batch, gradients, sums);
    for (double& sum : sums->sum) sum = 1e-14;
    return status;
  };
  EXPECT_FALSE(CheckAgainstReference(task, tiny, task.InitialParameters(0), batch, 1e-5).ok());
}

// Data that is not finite is no bug of a kernel; a kernel that makes infinities of good data is.
TEST(GradientComparisonTest, WhatTheReferenceCannotComputeIsNoBug) {
  ToyTaskOptions options;
  options.nan_example = 1;
  options.dtype = DType::kF32;
  const absl::Status data = Check(options);
  EXPECT_EQ(data.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(data.message()),
              HasSubstr("the sum of term \"value\" is nan, by the reference nan: a label"));
  EXPECT_THAT(std::string(data.message()), HasSubstr("fp32"));
  ToyTask task(ToyTaskOptions{});
  NamedTensors batch;
  ASSERT_TRUE(task.MakeBatch({0, 1, 2}, &batch).ok());
  const AddGradients overflows = [&](absl::Span<Tensor> gradients, TermSums* sums) {
    const absl::Status status = task.AccumulateGradients(task.InitialParameters(0), batch, gradients, sums);
    gradients[0].mutable_values<double>()[1] = std::numeric_limits<double>::infinity();
    return status;
  };
  const absl::Status bug = CheckAgainstReference(task, overflows, task.InitialParameters(0), batch, 1e-6);
  EXPECT_EQ(bug.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(bug.message()), HasSubstr("d value / d weight[0, 1] is inf"));
}

}  // namespace
}  // namespace rutile
