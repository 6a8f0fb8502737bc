#include "lib/train/run_writer.h"

#include <limits>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/file.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_file.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/testing/toy_task.h"
#include "lib/train/checkpoint.h"
#include "lib/train/run_directory.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;

class RunWriterTest : public ::testing::Test {
 protected:
  RunWriterTest() {
    EXPECT_TRUE(directory_.Open(RunMode::kOverwrite).ok());
    EXPECT_TRUE(directory_.RemoveRun().ok());
    state_.parameters = Tensor::Of<double>({1, 2, 3, 4});
    state_.best_parameters = Tensor::Of<double>({5, 6, 7, 8});
    state_.epoch_sums = TermSums(2);
    state_.loss_weight = {0, 0};
    state_.best_epoch = 2;
    state_.best_loss = 0.5;
    state_.epoch = 3;
    state_.step = 30;
  }

  ToyTask task_{ToyTaskOptions()};
  RunDirectory directory_{::testing::TempDir() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name()};
  RunWriter writer_{task_, directory_, {{"tool", "train"}}};
  Checkpoint state_;
};

TEST_F(RunWriterTest, ModelsSayWhatTheyAre) {
  writer_.SetBestChanged();
  ASSERT_EQ(writer_.WriteModels(state_, state_.parameters, 0.75), absl::OkStatus());
  const TensorFile best = ReadTensorFile(directory_.best()).value(), last = ReadTensorFile(directory_.last()).value();
  EXPECT_THAT(best.tensors.At("parameters").ToDoubles(), ElementsAre(5, 6, 7, 8));
  EXPECT_THAT(last.tensors.At("parameters").ToDoubles(), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(best.metadata.at("epoch"), "2");
  EXPECT_EQ(best.metadata.at("loss"), "0.5");
  EXPECT_EQ(last.metadata.at("epoch"), "3");
  EXPECT_EQ(last.metadata.at("step"), "30");
  EXPECT_EQ(last.metadata.at("loss"), "0.75");
  EXPECT_EQ(last.metadata.at("tool"), "train");
  EXPECT_FALSE(FileExists(directory_.checkpoint()));
}

TEST_F(RunWriterTest, BestIsWrittenOnlyWhenItChanged) {
  ASSERT_EQ(writer_.WriteModels(state_, state_.parameters, std::numeric_limits<double>::quiet_NaN()), absl::OkStatus());
  EXPECT_FALSE(FileExists(directory_.best()));
  EXPECT_EQ(ReadTensorFile(directory_.last())->metadata.count("loss"), 0u);
  writer_.SetBestChanged();
  ASSERT_EQ(writer_.WriteBest(state_), absl::OkStatus());
  ASSERT_TRUE(FileExists(directory_.best()));
  ASSERT_TRUE(directory_.RemoveRun().ok());
  ASSERT_EQ(writer_.WriteBest(state_), absl::OkStatus());
  EXPECT_FALSE(FileExists(directory_.best()));
}

TEST_F(RunWriterTest, SaveWritesAll) {
  writer_.SetBestChanged();
  ASSERT_EQ(writer_.Save(state_, state_.parameters, 1), absl::OkStatus());
  EXPECT_TRUE(FileExists(directory_.best()) && FileExists(directory_.last()));
  const Checkpoint loaded = LoadCheckpoint(directory_.checkpoint(), task_.parameter_slices(), DType::kF64, 2).value();
  EXPECT_EQ(loaded.step, 30);
}

}  // namespace
}  // namespace rutile
