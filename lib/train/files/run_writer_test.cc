#include "lib/train/files/run_writer.h"

#include <future>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_file.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/testing/full_disk.h"
#include "lib/testing/toy_task.h"
#include "lib/train/files/checkpoint.h"
#include "lib/train/files/run_directory.h"

namespace rutile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

TEST_F(RunWriterTest, ModelsSayWhetherTheRunHasEnded) {
  writer_.SetBestChanged();
  ASSERT_EQ(writer_.SaveNow(state_, state_.parameters, 1), absl::OkStatus());
  for (const std::string& path : {directory_.best(), directory_.last()}) {
    EXPECT_EQ(ReadTensorFile(path)->metadata.at("run_ended"), "false") << path;
  }
  writer_.SetRunEnded();  // best.safetensors has not changed otherwise
  ASSERT_EQ(writer_.WriteModels(state_, state_.parameters, 1), absl::OkStatus());
  for (const std::string& path : {directory_.best(), directory_.last()}) {
    EXPECT_EQ(ReadTensorFile(path)->metadata.at("run_ended"), "true") << path;
  }
}

TEST_F(RunWriterTest, SaveNowWritesAll) {
  writer_.SetBestChanged();
  ASSERT_EQ(writer_.SaveNow(state_, state_.parameters, 1), absl::OkStatus());
  EXPECT_TRUE(FileExists(directory_.best()) && FileExists(directory_.last()));
  const Checkpoint loaded = LoadCheckpoint(directory_.checkpoint(), task_.parameter_slices(), DType::kF64).value();
  EXPECT_EQ(loaded.step, 30);
}

std::string Bytes(const std::string& path) { return std::string(FileContents::Open(path).value().data()); }

// Writing beside training gives the same files as writing in line, of the state at the time of the save.
TEST_F(RunWriterTest, BesideTraining) {
  writer_.SetBestChanged();
  ASSERT_EQ(writer_.Save(state_, state_.best_parameters, 1), absl::OkStatus());
  EXPECT_FALSE(writer_.busy());
  const std::vector<std::string> paths = {directory_.best(), directory_.last(), directory_.checkpoint()};
  std::vector<std::string> expected;
  for (const std::string& path : paths) expected.push_back(Bytes(path));
  ASSERT_TRUE(directory_.RemoveRun().ok());
  std::promise<void> go;
  std::shared_future<void> gone = go.get_future().share();
  RunWriterOptions options;
  options.beside_training = true;
  options.before_checkpoint = [gone] {
    gone.wait();
    return absl::OkStatus();
  };
  {
    RunWriter beside(task_, directory_, {{"tool", "train"}}, options);
    beside.SetBestChanged();
    ASSERT_EQ(beside.Save(state_, state_.best_parameters, 1), absl::OkStatus());
    EXPECT_TRUE(beside.busy());
    state_.parameters.mutable_values<double>()[0] = -1;  // training goes on
    state_.best_parameters.mutable_values<double>()[0] = -1;
    EXPECT_FALSE(FileExists(directory_.checkpoint()));
    go.set_value();
  }  // waits
  for (size_t i = 0; i < paths.size(); ++i) EXPECT_EQ(Bytes(paths[i]), expected[i]) << paths[i];
}

TEST_F(RunWriterTest, KeepsTheFormerCheckpoint) {
  for (const int64_t step : {30, 40, 50}) {
    state_.step = step;
    ASSERT_EQ(writer_.SaveNow(state_, state_.parameters, 1), absl::OkStatus());
  }
  const auto step = [&](const std::string& path) {
    return LoadCheckpoint(path, task_.parameter_slices(), DType::kF64)->step;
  };
  EXPECT_EQ(step(directory_.checkpoint()), 50);
  EXPECT_EQ(step(directory_.previous()), 40);
  EXPECT_FALSE(FileExists(directory_.next()));
  // Going on from an earlier step leaves the checkpoints of the way that was abandoned, which are of no one run with
  // it.
  state_.step = 7;
  ASSERT_EQ(writer_.Keep(state_, directory_.epoch_checkpoint(1)), absl::OkStatus());
  state_.step = 20;
  ASSERT_EQ(writer_.Keep(state_, directory_.epoch_checkpoint(2)), absl::OkStatus());
  state_.step = 7;
  ASSERT_EQ(writer_.ReplaceLastCheckpoint(state_), absl::OkStatus());
  EXPECT_THAT(directory_.NumberedCheckpoints(), ElementsAre(directory_.epoch_checkpoint(1)));
  EXPECT_EQ(step(directory_.path() + "/recovery/epoch-00002.safetensors"), 20);
  EXPECT_EQ(step(directory_.checkpoint()), 7);
  EXPECT_EQ(step(directory_.previous()), 40);
  EXPECT_EQ(step(directory_.replaced()), 50);
}

TEST_F(RunWriterTest, RemovesOnceItIsNotNeeded) {
  const std::string name = "top-x.safetensors", path = directory_.named_checkpoint(name);
  ASSERT_TRUE(WriteFileAtomically(path, "x").ok());
  writer_.RemoveAfterSave(name);
  EXPECT_TRUE(FileExists(path));
  {
    const FullDisk full(64);
    EXPECT_FALSE(writer_.WriteLastCheckpoint(state_).ok());
  }
  EXPECT_TRUE(FileExists(path));
  ASSERT_EQ(writer_.WriteLastCheckpoint(state_), absl::OkStatus());
  EXPECT_FALSE(FileExists(path));
  EXPECT_FALSE(FileExists(directory_.to_remove()));
}

TEST_F(RunWriterTest, AFullDiskIsToldOnceAndTheOldCheckpointStays) {
  for (const bool beside : {false, true}) {
    ASSERT_TRUE(directory_.RemoveRun().ok());
    std::vector<std::string> messages;
    RunWriterOptions options;
    options.beside_training = beside;
    options.on_message = [&](absl::string_view message) { messages.emplace_back(message); };
    RunWriter writer(task_, directory_, {}, options);
    writer.SetBestChanged();
    state_.step = 30;
    ASSERT_EQ(writer.Save(state_, state_.parameters, 1), absl::OkStatus());
    ASSERT_EQ(writer.WriteBest(state_), absl::OkStatus());  // waits
    const std::string old = Bytes(directory_.checkpoint());
    {
      const FullDisk full(64);
      state_.step = 40;
      writer.SetBestChanged();
      for (int i = 0; i < 3; ++i) EXPECT_EQ(writer.Save(state_, state_.parameters, 1), absl::OkStatus());
      EXPECT_EQ(writer.Keep(state_, directory_.step_checkpoint(40)), absl::OkStatus());
      EXPECT_EQ(writer.failures(), 4);
      EXPECT_EQ(writer.SaveNow(state_, state_.parameters, 1).code(), absl::StatusCode::kResourceExhausted);
    }
    EXPECT_EQ(Bytes(directory_.checkpoint()), old);
    ASSERT_EQ(messages.size(), 1u);
    EXPECT_THAT(messages[0], AllOf(HasSubstr("File too large; training goes on, the checkpoint of epoch 4, step 30 is"),
                                   HasSubstr("warning: ")));
    ASSERT_EQ(writer.Save(state_, state_.parameters, 1), absl::OkStatus());
    ASSERT_EQ(writer.WriteModels(state_, state_.parameters, 1), absl::OkStatus());
    EXPECT_EQ(LoadCheckpoint(directory_.checkpoint(), task_.parameter_slices(), DType::kF64)->step, 40);
    writer.ReportFailures();
    EXPECT_THAT(messages.back(), HasSubstr("4 times a file could not be written while training; now all are whole"));
    EXPECT_THAT(
        std::string(writer.NotWritten(absl::ResourceExhaustedError("no room"), "the run is over").message()),
        HasSubstr("the run is over, but no room; the checkpoint of epoch 4, step 40 is whole: make room and resume"));
  }
}

TEST_F(RunWriterTest, OtherErrorsEndTheRun) {
  EXPECT_EQ(writer_.Tolerate(absl::InternalError("x")).code(), absl::StatusCode::kInternal);
  EXPECT_EQ(writer_.Tolerate(absl::PermissionDeniedError("x")).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(writer_.Tolerate(absl::UnavailableError("x")), absl::OkStatus());
  EXPECT_EQ(writer_.Tolerate(absl::OkStatus()), absl::OkStatus());
  EXPECT_EQ(writer_.failures(), 1);
}

}  // namespace
}  // namespace rutile
