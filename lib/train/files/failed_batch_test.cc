#include "lib/train/files/failed_batch.h"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/schema.h"
#include "lib/tensorfile/tensor_file.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/testing/toy_task.h"
#include "lib/train/files/checkpoint.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;

class FailedBatchTest : public ::testing::Test {
 protected:
  FailedBatchTest() {
    ToyTaskOptions options;
    options.nan_example = 7;
    task_ = std::make_unique<ToyTask>(options);
    EXPECT_TRUE(task_->MakeBatch(examples_, &batch_).ok());
    sums_.sum = {std::numeric_limits<double>::quiet_NaN(), 1.5};
    sums_.count = {3, 1};
    state_.seed = 11;
    state_.epoch = 4;
    state_.step = 40;
    state_.learning_rate = 0.01;
    state_.parameters = Tensor::Of<double>({1, 2, 3, std::numeric_limits<double>::infinity()});
    state_.config = "{\"seed\":11}";
    failed_.examples = examples_;
    failed_.batch = &batch_;
    failed_.sums = &sums_;
    failed_.loss = std::numeric_limits<double>::quiet_NaN();
    failed_.gradient_norm = std::numeric_limits<double>::infinity();
    failed_.message = "the loss is not finite in epoch 5";
  }

  std::string path_ = ::testing::TempDir() + "/failed-batch.safetensors";
  std::unique_ptr<ToyTask> task_;
  std::vector<int64_t> examples_ = {6, 7, 8};
  NamedTensors batch_;
  TermSums sums_{2};
  Checkpoint state_;
  FailedBatch failed_;
};

TEST_F(FailedBatchTest, HoldsWhatFailed) {
  ASSERT_EQ(WriteFailedBatch(path_, *task_, state_, failed_, {{"tool", "train"}}), absl::OkStatus());
  const absl::StatusOr<TensorFile> file = ReadTensorFile(path_);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(CheckSchema(FailedBatchSchema(), *file).status(), absl::OkStatus());
  const NamedTensors& tensors = file->tensors;
  EXPECT_THAT(tensors.At("example").ToDoubles(), ElementsAre(6, 7, 8));
  EXPECT_TRUE(std::isnan(tensors.At("loss").ToDoubles()[0]));
  EXPECT_TRUE(std::isinf(tensors.At("gradient_norm").ToDoubles()[0]));
  EXPECT_TRUE(std::isnan(tensors.At("term_sum").ToDoubles()[0]));
  EXPECT_EQ(tensors.At("term_sum").ToDoubles()[1], 1.5);
  EXPECT_THAT(tensors.At("term_count").ToDoubles(), ElementsAre(3, 1));
  EXPECT_EQ(tensors.At("epoch").ToDoubles()[0], 5);
  EXPECT_EQ(tensors.At("step").ToDoubles()[0], 41);
  EXPECT_EQ(tensors.At("seed").ToDoubles()[0], 11);
  EXPECT_EQ(file->metadata.at("tool"), "train");
  EXPECT_EQ(file->metadata.at("message"), "the loss is not finite in epoch 5");
  EXPECT_EQ(file->metadata.at("config"), "{\"seed\":11}");
  EXPECT_EQ(file->metadata.at("terms"), "value[V^2],slope[(V/m)^2]");
}

// The file holds every number of the batch and of the model, bit for bit, for those who look for the cause.
TEST_F(FailedBatchTest, BatchAndParametersByName) {
  ASSERT_EQ(WriteFailedBatch(path_, *task_, state_, failed_, {}), absl::OkStatus());
  const TensorFile file = ReadTensorFile(path_).value();
  ASSERT_GT(batch_.size(), 0);
  int64_t not_finite = 0;
  for (const auto& [name, tensor] : batch_) {
    const Tensor* written = file.tensors.Find("batch." + name);
    ASSERT_NE(written, nullptr) << name;
    EXPECT_EQ(written->shape(), tensor.shape()) << name;
    ASSERT_EQ(written->dtype(), tensor.dtype()) << name;
    const std::vector<double> before = tensor.ToDoubles(), after = written->ToDoubles();
    for (size_t i = 0; i < before.size(); ++i) {
      not_finite += !std::isfinite(before[i]);
      EXPECT_TRUE(before[i] == after[i] || (std::isnan(before[i]) && std::isnan(after[i]))) << name << " " << i;
    }
  }
  EXPECT_GT(not_finite, 0) << "example 7 is in the batch";
  for (const ParameterSlice& slice : task_->parameter_slices()) {
    const Tensor* written = file.tensors.Find("parameters." + slice.name);
    ASSERT_NE(written, nullptr) << slice.name;
    EXPECT_EQ(written->shape(), slice.shape);
    EXPECT_EQ(written->ToDoubles(), state_.parameters.Slice(slice.offset, slice.shape).ToDoubles());
  }
}

TEST_F(FailedBatchTest, ErrorsNameThePath) {
  const absl::Status status = WriteFailedBatch("no/such/failed.safetensors", *task_, state_, failed_, {});
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("no/such/failed.safetensors"));
}

}  // namespace
}  // namespace rutile
