#include "lib/train/files/checkpoint.h"

#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_file.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/tensorfile/tensor_writer.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<ParameterSlice>& Slices() {
  static const auto* slices = new std::vector<ParameterSlice>{{"net.weight", 0, {2, 2}}, {"net.bias", 4, {}}};
  return *slices;
}

Checkpoint Example() {
  Checkpoint checkpoint;
  checkpoint.seed = 1ull << 63;
  checkpoint.epoch = 12;
  checkpoint.batch = 3;
  checkpoint.step = 1234;
  checkpoint.parameters = Tensor::Of<float>({1, 2, 3, 4, 5});
  checkpoint.epoch_sums = TermSums(2);
  checkpoint.epoch_sums.sum = {0.1, 0.2};
  checkpoint.epoch_sums.count = {10, 20};
  checkpoint.learning_rate = 1e-3;
  checkpoint.loss_weight = {0.5, 0.25};
  checkpoint.best_parameters = Tensor::Of<float>({5, 4, 3, 2, 1});
  checkpoint.best_loss = 0.1;
  checkpoint.best_epoch = 11;
  checkpoint.optimizer.Set("exp_avg", Tensor::Of<float>({1, 1, 1, 1, 1}));
  checkpoint.schedule.Set("plateau", Tensor::Of<double>({1, 2, 3, 4}));
  checkpoint.stopping.Set("stopping", Tensor::Of<double>({1, 2}));
  checkpoint.task.Set("last_error", Tensor::Of<double>({0.5, 0.25}));
  checkpoint.sampling_weight = {1, 3};
  checkpoint.config = "{\"seed\":1}";
  checkpoint.validated_step = 1230;
  checkpoint.observed_step = 1234;
  checkpoint.observed_loss = 0.75;
  checkpoint.kept_step = 1200;
  checkpoint.data = 42;
  checkpoint.data_sha256 = "0a";
  checkpoint.loss_count = {30, 60};
  checkpoint.frame = {"{}", NamedTensors()};
  checkpoint.frame.tensors.Set("scale", Tensor::Of<double>({2, 3}));
  checkpoint.changes = "step 5: seed is 2, was 1\n";
  return checkpoint;
}

std::string Path(const char* name) { return ::testing::TempDir() + "/" + name + ".safetensors"; }

TEST(CheckpointTest, RoundTrip) {
  const Checkpoint saved = Example();
  ASSERT_EQ(SaveCheckpoint(Path("round"), saved, Slices(), {{"tool", "train"}}), absl::OkStatus());
  const absl::StatusOr<Checkpoint> loaded = LoadCheckpoint(Path("round"), Slices(), DType::kF32);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->seed, saved.seed);
  EXPECT_EQ(loaded->epoch, saved.epoch);
  EXPECT_EQ(loaded->batch, saved.batch);
  EXPECT_EQ(loaded->step, saved.step);
  EXPECT_EQ(loaded->parameters.ToDoubles(), saved.parameters.ToDoubles());
  EXPECT_EQ(loaded->epoch_sums.sum, saved.epoch_sums.sum);
  EXPECT_EQ(loaded->epoch_sums.count, saved.epoch_sums.count);
  EXPECT_EQ(loaded->learning_rate, saved.learning_rate);
  EXPECT_EQ(loaded->loss_weight, saved.loss_weight);
  EXPECT_EQ(loaded->loss_count, saved.loss_count);
  EXPECT_EQ(loaded->frame.text, "{}");
  EXPECT_THAT(loaded->frame.tensors.At("scale").ToDoubles(), ElementsAre(2, 3));
  EXPECT_THAT(ReadCheckpointFrame(Path("round"))->tensors.At("scale").ToDoubles(), ElementsAre(2, 3));
  EXPECT_EQ(loaded->changes, saved.changes);
  EXPECT_EQ(ReadCheckpointChanges(Path("round")).value(), saved.changes);
  EXPECT_EQ(loaded->best_parameters.ToDoubles(), saved.best_parameters.ToDoubles());
  EXPECT_EQ(loaded->best_loss, saved.best_loss);
  EXPECT_EQ(loaded->best_epoch, saved.best_epoch);
  EXPECT_THAT(loaded->optimizer.At("exp_avg").ToDoubles(), ElementsAre(1, 1, 1, 1, 1));
  EXPECT_THAT(loaded->schedule.At("plateau").ToDoubles(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(loaded->stopping.At("stopping").ToDoubles(), ElementsAre(1, 2));
  EXPECT_THAT(loaded->task.At("last_error").ToDoubles(), ElementsAre(0.5, 0.25));
  EXPECT_THAT(loaded->sampling_weight, ElementsAre(1, 3));
  EXPECT_EQ(loaded->config, saved.config);
  EXPECT_EQ(loaded->validated_step, 1230);
  EXPECT_EQ(loaded->observed_step, 1234);
  EXPECT_EQ(loaded->observed_loss, 0.75);
  EXPECT_EQ(loaded->kept_step, 1200);
  EXPECT_EQ(loaded->data, 42u);
  EXPECT_EQ(loaded->data_sha256, "0a");
}

TEST(CheckpointTest, MostRunsHaveNeitherTaskStateNorWeights) {
  Checkpoint checkpoint = Example();
  checkpoint.task = NamedTensors();
  checkpoint.sampling_weight.clear();
  ASSERT_TRUE(SaveCheckpoint(Path("uniform"), checkpoint, Slices(), {}).ok());
  const Checkpoint loaded = LoadCheckpoint(Path("uniform"), Slices(), DType::kF32).value();
  EXPECT_TRUE(loaded.task.empty());
  EXPECT_TRUE(loaded.sampling_weight.empty());
}

// Fields that later versions added get defaults.
TEST(CheckpointTest, OlderFilesAreRead) {
  ASSERT_TRUE(SaveCheckpoint(Path("new"), Example(), Slices(), {}).ok());
  const TensorFile file = ReadTensorFile(Path("new")).value();
  NamedTensors tensors;
  for (const auto& [name, tensor] : file.tensors) {
    if (name != "kept_step" && name != "validated_step") tensors.Set(name, tensor);
  }
  ASSERT_TRUE(WriteTensorFile(Path("old"), file.metadata, tensors).ok());
  const absl::StatusOr<Checkpoint> loaded = LoadCheckpoint(Path("old"), Slices(), DType::kF32);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->kept_step, -1);
  EXPECT_EQ(loaded->validated_step, 1234);  // older files have one number for both
}

TEST(CheckpointTest, ChangesNameOtherData) {
  EXPECT_FALSE(WentOnWithOtherData(""));
  EXPECT_FALSE(WentOnWithOtherData("step 3: loss is \"other data\", was \"mse\"; seed is 2, was 1\n"));
  EXPECT_TRUE(WentOnWithOtherData("step 3: seed is 2, was 1\nstep 9: loss is \"mae\", was \"mse\"; other data\n"));
}

TEST(CheckpointTest, LoadedParametersMayBeTrained) {
  ASSERT_TRUE(SaveCheckpoint(Path("writable"), Example(), Slices(), {}).ok());
  Checkpoint loaded = LoadCheckpoint(Path("writable"), Slices(), DType::kF32).value();
  loaded.parameters.mutable_values<float>()[0] = 7;  // not a view of the mapped file
}

TEST(CheckpointTest, InfiniteLossBeforeTheFirstValidation) {
  Checkpoint checkpoint = Example();
  checkpoint.best_loss = std::numeric_limits<double>::infinity();
  ASSERT_TRUE(SaveCheckpoint(Path("infinite"), checkpoint, Slices(), {}).ok());
  EXPECT_EQ(LoadCheckpoint(Path("infinite"), Slices(), DType::kF32)->best_loss, checkpoint.best_loss);
}

TEST(CheckpointTest, RefusesAnotherModel) {
  const std::string path = Path("other");
  ASSERT_TRUE(SaveCheckpoint(path, Example(), Slices(), {}).ok());
  const auto message = [&](const std::vector<ParameterSlice>& slices, DType dtype) {
    return std::string(LoadCheckpoint(path, slices, dtype).status().message());
  };
  EXPECT_THAT(message({{"net.weight", 0, {2, 3}}}, DType::kF32),
              HasSubstr("\"parameters.net.weight\" is F32 [2, 2], expected F32 [2, 3]; it was made for another model"));
  EXPECT_THAT(message({{"net.scale", 0, {2}}}, DType::kF32), HasSubstr("no tensor \"parameters.net.scale\""));
  EXPECT_THAT(message(Slices(), DType::kF64), HasSubstr("expected F64"));
}

TEST(CheckpointTest, RefusesAnotherKind) {
  NamedTensors tensors;
  tensors.Set("x", Tensor::Of<float>({1}));
  ASSERT_TRUE(WriteTensorFile(Path("kind"), {{"kind", "potential/1"}}, tensors).ok());
  EXPECT_THAT(std::string(LoadCheckpoint(Path("kind"), Slices(), DType::kF32).status().message()),
              HasSubstr("checkpoint"));
}

TEST(CheckpointTest, CutOffAnywhereIsAnError) {
  const std::string path = Path("whole");
  ASSERT_TRUE(SaveCheckpoint(path, Example(), Slices(), {}).ok());
  const std::string bytes(FileContents::Open(path)->data());
  for (size_t size = 0; size < bytes.size(); size += 37) {
    ASSERT_TRUE(WriteFileAtomically(Path("cut"), bytes.substr(0, size)).ok());
    EXPECT_EQ(LoadCheckpoint(Path("cut"), Slices(), DType::kF32).status().code(), absl::StatusCode::kDataLoss) << size;
  }
}

TEST(CheckpointTest, FlippedBitIsAnError) {
  const std::string path = Path("flip");
  ASSERT_TRUE(SaveCheckpoint(path, Example(), Slices(), {}).ok());
  std::string bytes(FileContents::Open(path)->data());
  bytes[bytes.size() - 3] ^= 4;
  ASSERT_TRUE(WriteFileAtomically(path, bytes).ok());
  EXPECT_EQ(LoadCheckpoint(path, Slices(), DType::kF32).status().code(), absl::StatusCode::kDataLoss);
}

TEST(CheckpointTest, Place) {
  ASSERT_TRUE(SaveCheckpoint(Path("place"), Example(), Slices(), {}).ok());
  const CheckpointPlace place = ReadCheckpointPlace(Path("place")).value();
  EXPECT_EQ(place.epoch, 12);
  EXPECT_EQ(place.batch, 3);
  EXPECT_EQ(place.step, 1234);
  ASSERT_TRUE(WriteFileAtomically(Path("place"), "x").ok());
  EXPECT_EQ(ReadCheckpointPlace(Path("place")).status().code(), absl::StatusCode::kDataLoss);
}

// A checkpoint being written beside training must not change meanwhile.
TEST(CheckpointTest, CopiesHaveTheirOwnMemory) {
  Checkpoint from = Example(), to;
  from.ema_parameters = Tensor::Of<float>({9, 9, 9, 9, 9});
  CopyCheckpoint(from, &to);
  const void* const memory = to.parameters.data();
  const void* const moments = to.optimizer.At("exp_avg").data();
  from.parameters.mutable_values<float>()[0] = -1;
  from.best_parameters.mutable_values<float>()[0] = -1;
  from.ema_parameters.mutable_values<float>()[0] = -1;
  from.optimizer.MutableAt("exp_avg").mutable_values<float>()[0] = -1;
  from.task.MutableAt("last_error").mutable_values<double>()[0] = -1;
  EXPECT_THAT(to.parameters.ToDoubles(), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(to.best_parameters.ToDoubles(), ElementsAre(5, 4, 3, 2, 1));
  EXPECT_THAT(to.ema_parameters.ToDoubles(), ElementsAre(9, 9, 9, 9, 9));
  EXPECT_THAT(to.optimizer.At("exp_avg").ToDoubles(), ElementsAre(1, 1, 1, 1, 1));
  EXPECT_THAT(to.task.At("last_error").ToDoubles(), ElementsAre(0.5, 0.25));
  EXPECT_EQ(to.config, from.config);
  EXPECT_EQ(to.step, 1234);
  // Copying again reuses the memory and removes parts that are gone.
  from.step = 1235;
  from.task = NamedTensors();
  CopyCheckpoint(from, &to);
  EXPECT_EQ(to.parameters.data(), memory);
  EXPECT_EQ(to.optimizer.At("exp_avg").data(), moments);
  EXPECT_EQ(to.parameters.ToDoubles()[0], -1);
  EXPECT_TRUE(to.task.empty());
  EXPECT_EQ(to.step, 1235);
}

TEST(FingerprintTest, TellsSplitsApart) {
  const uint64_t value = Fingerprint(10, {1, 2, 3}, {4, 5});
  EXPECT_EQ(Fingerprint(10, {1, 2, 3}, {4, 5}), value);
  EXPECT_NE(Fingerprint(11, {1, 2, 3}, {4, 5}), value);
  EXPECT_NE(Fingerprint(10, {1, 2, 6}, {4, 5}), value);
  EXPECT_NE(Fingerprint(10, {1, 2}, {3, 4, 5}), value);
}

}  // namespace
}  // namespace rutile
