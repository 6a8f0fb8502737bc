#include "lib/influence/files/influence_file.h"

#include <numeric>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"
#include "lib/influence/dense_products_testing.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/tensorfile/tensor_writer.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

InfluenceDescription Describe(int shard, int num_shards) {
  InfluenceDescription d;
  d.model = "dense";
  d.checkpoints = {"c1"};
  d.checkpoint_sha256 = {"12"};
  d.rates = {0.5};
  d.train_sha256 = "56";
  d.test_sha256 = "78";
  d.test_names = {"two", "zero"};
  d.top_k = 3;
  d.shard = shard;
  d.num_shards = num_shards;
  return d;
}

TracInOptions Options() {
  TracInOptions options;
  options.top_k = 3;
  options.train_self = options.test_self = options.part_scores = true;
  options.parts = {{"a", {0}}, {"c", {3}}};
  return options;
}

// Computes a shard of 20 training examples on tests 2 and 0.
absl::StatusOr<Influence> Compute(int shard, int num_shards, const InfluenceHooks& hooks) {
  DenseProducts products(20, 3, 0);
  const std::vector<GradientProducts*> checkpoints = {&products};
  std::vector<int64_t> train(20);
  std::iota(train.begin(), train.end(), 0);
  return ComputeInfluence({checkpoints, {0.5}, TrainShard(train, shard, num_shards), {2, 0}, {}}, Options(), hooks);
}

std::string Path(absl::string_view name) { return absl::StrCat(::testing::TempDir(), "/", name); }

InfluenceFile WriteAndRead(int shard, int num_shards) {
  const std::string path = Path(absl::StrCat("influence", shard, "of", num_shards));
  EXPECT_TRUE(WriteInfluence(path, *Compute(shard, num_shards, {}), Describe(shard, num_shards), {{"tool", "t"}}).ok());
  absl::StatusOr<InfluenceFile> file = ReadInfluence(path);
  EXPECT_TRUE(file.ok()) << file.status();
  return *std::move(file);
}

TEST(InfluenceFileTest, ReadsWhatItWrites) {
  const InfluenceFile file = WriteAndRead(1, 1);
  const Influence influence = *Compute(1, 1, {});
  EXPECT_EQ(file.influence.tests, influence.tests);
  EXPECT_EQ(file.influence.score, influence.score);
  EXPECT_EQ(file.influence.part_score, influence.part_score);
  EXPECT_EQ(file.influence.train_self, influence.train_self);
  EXPECT_THAT(file.influence.part_names, ElementsAre("a", "c"));
  EXPECT_EQ(DescriptionDifference(file.description, Describe(1, 1), true), "");
  const absl::StatusOr<TensorFile> raw = ReadTensorFile(file.path);
  EXPECT_EQ(raw->metadata.at("tool"), "t");
  EXPECT_EQ(raw->metadata.at("kind"), "influence/1");
}

TEST(InfluenceFileTest, ShardsMergeIntoTheWhole) {
  const Influence whole = *Compute(1, 1, {});
  const InfluenceFile a = WriteAndRead(1, 3), b = WriteAndRead(2, 3), c = WriteAndRead(3, 3);
  const absl::StatusOr<InfluenceFile> merged = MergeInfluenceFiles({c, a, b});
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_EQ(merged->influence.offset, whole.offset);
  EXPECT_EQ(merged->influence.train, whole.train);
  EXPECT_EQ(merged->influence.score, whole.score);
  EXPECT_EQ(merged->influence.part_score, whole.part_score);
  EXPECT_EQ(merged->influence.train_order, whole.train_order);
  EXPECT_EQ(merged->influence.train_self, whole.train_self);
  EXPECT_EQ(DescriptionDifference(merged->description, Describe(1, 1), true), "");
}

TEST(InfluenceFileTest, FilesThatDoNotBelongTogetherAreNamed) {
  const auto error = [](const std::vector<InfluenceFile>& files) {
    const absl::Status status = MergeInfluenceFiles(files).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  const InfluenceFile a = WriteAndRead(1, 3), b = WriteAndRead(2, 3), c = WriteAndRead(3, 3);
  EXPECT_THAT(error({}), HasSubstr("no files"));
  EXPECT_THAT(error({c, a}), HasSubstr("shard 2 of 3 is missing beside " + c.path));
  EXPECT_THAT(error({a, b, a, c}), HasSubstr("are both shard 1"));
  EXPECT_THAT(error({a, WriteAndRead(2, 2)}), HasSubstr("is one of 3 shards"));
  InfluenceFile other = b;
  other.description.rates = {0.25};
  EXPECT_THAT(error({a, other, c}), HasSubstr("differ in rates: [0.5] and [0.25]"));
  other = b;
  other.influence.train_order = a.influence.train_order;
  EXPECT_THAT(error({a, other, c}), HasSubstr("training example 0 is in shares 1 and 2"));
}

TEST(InfluenceFileTest, WhatIsDamagedIsNamed) {
  const InfluenceFile good = WriteAndRead(1, 1);
  const TensorFile raw = *ReadTensorFile(good.path);
  const auto error = [&](absl::string_view key, absl::string_view value, absl::string_view tensor, const Tensor& data) {
    Metadata metadata = raw.metadata;
    if (!key.empty()) metadata[std::string(key)] = std::string(value);
    NamedTensors tensors = raw.tensors;
    if (!tensor.empty()) tensors.Set(tensor, data);
    const std::string path = Path("damaged");
    EXPECT_TRUE(WriteTensorFile(path, metadata, tensors).ok());
    const absl::Status status = ReadInfluence(path).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(path));
    return std::string(status.message());
  };
  EXPECT_THAT(error("kind", "influence/2", "", {}), HasSubstr("influence/2"));
  EXPECT_THAT(error("parts", "[]", "", {}), HasSubstr("\"parts\""));
  EXPECT_THAT(error("parts", "[\"a\"]", "", {}), HasSubstr("\"part_score\""));
  EXPECT_THAT(error("parts", "[\"a\", 1]", "", {}), HasSubstr("\"parts\""));
  EXPECT_THAT(error("test_names", "[\"a\"]", "", {}), HasSubstr("1 names for 2 tests"));
  EXPECT_THAT(error("top_k", "many", "", {}), HasSubstr("\"top_k\""));
  EXPECT_THAT(error("", "", "offset", Tensor::Of(std::vector<int64_t>{0, 7, 6})), HasSubstr("\"offset\""));
  EXPECT_THAT(error("", "", "train", Tensor::Of(std::vector<int64_t>(6, -3))), HasSubstr("\"train\""));
}

TEST(PartialInfluenceFileTest, GoesOnFromTheFile) {
  const std::string path = Path("partial");
  InfluenceHooks cut;
  cut.progress = [](int64_t done, int64_t) { return done < 14 ? absl::OkStatus() : absl::CancelledError("cut"); };
  cut.save = [&](const InfluenceState& s) { return WritePartialInfluence(path, s, Describe(1, 1), {}); };
  EXPECT_EQ(Compute(1, 1, cut).status().code(), absl::StatusCode::kCancelled);
  const absl::StatusOr<InfluenceState> state = ReadPartialInfluence(path, Describe(1, 1));
  ASSERT_TRUE(state.ok()) << state.status();
  InfluenceHooks resume;
  resume.resume = &*state;
  const absl::StatusOr<Influence> resumed = Compute(1, 1, resume);
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  const Influence whole = *Compute(1, 1, {});
  EXPECT_EQ(resumed->train, whole.train);
  EXPECT_EQ(resumed->score, whole.score);
  EXPECT_EQ(resumed->part_score, whole.part_score);
  EXPECT_EQ(resumed->train_self_part, whole.train_self_part);

  InfluenceDescription other = Describe(1, 1);
  other.settings["precondition"] = "adam";
  EXPECT_THAT(std::string(ReadPartialInfluence(path, other).status().message()), HasSubstr("differs in settings"));
  EXPECT_THAT(std::string(ReadPartialInfluence(path, Describe(1, 2)).status().message()),
              HasSubstr("num_shards: 1 and 2; remove it"));
  // One bit in the scores' bytes is flipped.
  std::string bytes(FileContents::Open(path)->data());
  bytes.back() ^= 1;
  EXPECT_TRUE(WriteFileAtomically(path, bytes).ok());
  EXPECT_THAT(std::string(ReadPartialInfluence(path, Describe(1, 1)).status().message()),
              HasSubstr("its bytes were changed"));
}

TEST(PartialInfluenceFileTest, OtherKindsAreRefused) {
  const InfluenceFile whole = WriteAndRead(1, 1);
  EXPECT_THAT(std::string(ReadPartialInfluence(whole.path, Describe(1, 1)).status().message()),
              HasSubstr("influence-partial/1"));
}

}  // namespace
}  // namespace rutile
