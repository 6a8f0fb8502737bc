#include "lib/task/torch/eager_gradients.h"

#include <ATen/ATen.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/status_macros.h"
#include "lib/task/eager_options.h"
#include "lib/task/torch/eager_task.h"
#include "lib/task/torch/reference_gradients.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensorfile_torch.h"
#include "lib/testing/error_names.h"
#include "lib/testing/toy_task.h"

namespace rutile {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Pointwise;
using ::testing::SizeIs;

// A task that records what it is asked for.
class SpyTask : public ToyTask, public EagerTask {
 public:
  using ToyTask::ToyTask;
  at::Tensor EagerLosses(const at::Tensor& parameters, const NamedTensors& batch,
                         const EagerOptions& options) const override {
    TORCH_CHECK(!fails, "out of ", "memory");
    leaves.push_back(parameters);
    return ExampleLosses(parameters, batch);
  }
  const EagerTask* eager() const override { return this; }

  bool fails = false;
  mutable std::vector<at::Tensor> leaves;
};

struct Sums {
  explicit Sums(const Task& task) : sums(static_cast<int>(task.terms().size())) {
    for (size_t t = 0; t < sums.sum.size(); ++t) {
      gradients.push_back(Tensor::Zeros(task.parameter_dtype(), {task.num_parameters()}));
    }
  }
  std::vector<Tensor> gradients;
  TermSums sums;
};

NamedTensors Batch(const Task& task, const std::vector<int64_t>& examples) {
  NamedTensors batch;
  EXPECT_TRUE(task.MakeBatch(examples, &batch).ok());
  return batch;
}

// A batch that names rows of the data is completed before losses and counts see it, and an error of that comes back.
class PartialTask : public ToyTask {
 public:
  using ToyTask::ToyTask;
  absl::StatusOr<NamedTensors> CompleteBatch(const NamedTensors& batch) const override {
    NamedTensors complete;
    if (fails) return absl::DataLossError("neighbors.safetensors: cut off");
    const absl::Span<const int64_t> rows = batch.At("row").values<int64_t>();
    RETURN_IF_ERROR(MakeBatch(rows, &complete));
    return complete;
  }
  bool fails = false;
};

TEST(EagerGradientsTest, CompletesBatches) {
  PartialTask task(ToyTaskOptions{});
  const Tensor parameters = task.InitialParameters(3);
  const NamedTensors whole = Batch(task, {0, 1, 2, 9});
  NamedTensors rows;
  rows.Set("row", Tensor::Of<int64_t>({0, 1, 2, 9}));
  Sums expected(task), found(task);
  ASSERT_TRUE(ReferenceGradients(ToyTask(ToyTaskOptions{}), parameters, whole, absl::MakeSpan(expected.gradients),
                                 &expected.sums)
                  .ok());
  ASSERT_TRUE(ReferenceGradients(task, parameters, rows, absl::MakeSpan(found.gradients), &found.sums).ok());
  EXPECT_EQ(found.sums.sum, expected.sums.sum);
  EXPECT_EQ(found.sums.count, expected.sums.count);
  task.fails = true;
  Sums none(task);
  EagerGradients plain(task, {});
  EXPECT_THAT(plain.Add(parameters, rows, 1, absl::MakeSpan(none.gradients), &none.sums),
              ErrorNames(absl::StatusCode::kDataLoss, {"neighbors.safetensors"}));
  EagerGradients staged(task, {}, /*staged=*/true);
  EXPECT_THAT(staged.AddOnDevice(ToTorch(parameters), rows, 1, &none.sums),
              ErrorNames(absl::StatusCode::kDataLoss, {"neighbors.safetensors"}));
  EXPECT_THAT(none.sums.sum, Each(0));
  for (const Tensor& gradient : none.gradients) EXPECT_THAT(gradient.ToDoubles(), Each(0));
}

TEST(EagerGradientsTest, ScalesGradientsAndNotSums) {
  const ToyTask task(ToyTaskOptions{});
  const Tensor parameters = task.InitialParameters(3);
  const NamedTensors batch = Batch(task, {0, 1, 2, 3, 9});
  Sums plain(task), scaled(task);
  ASSERT_TRUE(ReferenceGradients(task, parameters, batch, absl::MakeSpan(plain.gradients), &plain.sums).ok());
  EagerGradients eager(task, {});
  ASSERT_TRUE(eager.Add(parameters, batch, 1024, absl::MakeSpan(scaled.gradients), &scaled.sums).ok());
  EXPECT_EQ(scaled.sums.sum, plain.sums.sum);
  EXPECT_EQ(scaled.sums.count, plain.sums.count);
  for (int t = 0; t < 2; ++t) {
    std::vector<double> expected = plain.gradients[t].ToDoubles();
    for (double& x : expected) x *= 1024;
    EXPECT_EQ(scaled.gradients[t].ToDoubles(), expected);
  }
}

// Checks on a CPU what happens on a GPU: results stay there until they are fetched, and parameters are read once.
TEST(EagerGradientsTest, StagedResultsComeWithFetch) {
  const SpyTask task(ToyTaskOptions{});
  const Tensor parameters = task.InitialParameters(3);
  Sums plain(task), staged(task);
  EagerGradients now(task, {}), later(task, {}, /*staged=*/true);
  for (int round = 0; round < 2; ++round) {
    task.leaves.clear();
    for (const std::vector<int64_t>& examples : {std::vector<int64_t>{0, 1, 2}, {4, 5}, {9, 3, 3}}) {
      const NamedTensors batch = Batch(task, examples);
      ASSERT_TRUE(later.Add(parameters, batch, 2, absl::MakeSpan(staged.gradients), &staged.sums).ok());
      if (round == 0) {
        EXPECT_THAT(staged.gradients[0].ToDoubles(), Each(0));
        EXPECT_THAT(staged.sums.sum, Each(0));
      }
    }
    ASSERT_THAT(task.leaves, SizeIs(3));
    EXPECT_TRUE(task.leaves[0].is_same(task.leaves[2]));
    ASSERT_TRUE(later.Fetch(absl::MakeSpan(staged.gradients), &staged.sums).ok());
    for (const std::vector<int64_t>& examples : {std::vector<int64_t>{0, 1, 2}, {4, 5}, {9, 3, 3}}) {
      ASSERT_TRUE(now.Add(parameters, Batch(task, examples), 2, absl::MakeSpan(plain.gradients), &plain.sums).ok());
      EXPECT_FALSE(task.leaves.back().is_same(task.leaves[0]));
    }
    ASSERT_TRUE(now.Fetch(absl::MakeSpan(plain.gradients), &plain.sums).ok());
    EXPECT_THAT(staged.sums.count, ElementsAreArray(plain.sums.count));
    EXPECT_THAT(staged.sums.sum, Pointwise(DoubleNear(1e-12), plain.sums.sum));
    for (int t = 0; t < 2; ++t) {
      EXPECT_THAT(staged.gradients[t].ToDoubles(), Pointwise(DoubleNear(1e-12), plain.gradients[t].ToDoubles()));
    }
  }
}

TEST(EagerGradientsTest, GradientsStayOnTheDevice) {
  const SpyTask task(ToyTaskOptions{});
  const Tensor parameters = task.InitialParameters(3);
  at::Tensor flat = ToTorch(parameters).clone();
  EagerGradients now(task, {}), later(task, {}, /*staged=*/true);
  for (int round = 0; round < 2; ++round) {
    Sums plain(task), device(task);
    for (const std::vector<int64_t>& examples : {std::vector<int64_t>{0, 1, 2}, {4, 5}, {9, 3, 3}}) {
      const NamedTensors batch = Batch(task, examples);
      ASSERT_TRUE(now.Add(parameters, batch, 2, absl::MakeSpan(plain.gradients), &plain.sums).ok());
      ASSERT_TRUE(later.AddOnDevice(flat, batch, 2, &device.sums).ok());
      EXPECT_THAT(device.sums.sum, Each(0));
    }
    EXPECT_FALSE(flat.requires_grad());  // so that a step may change it
    ASSERT_TRUE(later.FetchSums(&device.sums).ok());
    EXPECT_EQ(device.sums.count, plain.sums.count);
    EXPECT_THAT(device.sums.sum, Pointwise(DoubleNear(1e-12), plain.sums.sum));
    ASSERT_TRUE(later.FetchSums(&device.sums).ok());  // which are there once
    EXPECT_THAT(device.sums.sum, Pointwise(DoubleNear(1e-12), plain.sums.sum));
    for (int t = 0; t < 2; ++t) {
      at::Tensor& gradient = (*later.device_gradients())[t];
      EXPECT_THAT(FromTorch(gradient).ToDoubles(), Pointwise(DoubleNear(1e-12), plain.gradients[t].ToDoubles()));
      gradient.reset();
    }
  }
}

TEST(EagerGradientsTest, LibTorchsExceptionsBecomeErrors) {
  SpyTask task(ToyTaskOptions{});
  task.fails = true;
  Sums out(task);
  EagerGradients eager(task, {});
  const absl::Status status =
      eager.Add(task.InitialParameters(3), Batch(task, {1}), 1, absl::MakeSpan(out.gradients), &out.sums);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(status.message(), "LibTorch: out of memory");
}

TEST(CheckEagerTest, AsksOptionsMachineAndTask) {
  const ToyTask task(ToyTaskOptions{});
  EagerOptions options;
  EXPECT_EQ(CheckEager(task, options), absl::OkStatus());
  options.script = true;
  EXPECT_THAT(std::string(CheckEager(task, options).message()), HasSubstr("neither mixed precision nor script"));
  EXPECT_EQ(CheckEager(SpyTask(ToyTaskOptions{}), options), absl::OkStatus());
  options.device = "cuda:1000";
  EXPECT_THAT(std::string(CheckEager(SpyTask(ToyTaskOptions{}), options).message()), HasSubstr("device cuda:1000: "));
  options.device = "gpu";
  EXPECT_THAT(std::string(CheckEager(task, options).message()), HasSubstr("expected cpu, cuda or cuda:N"));
  options = EagerOptions();
  options.precision = Precision::kBf16Mixed;  // the toy's parameters are fp64
  EXPECT_THAT(std::string(CheckEager(SpyTask(ToyTaskOptions{}), options).message()), HasSubstr("not with fp64"));
}

}  // namespace
}  // namespace rutile
