#include "lib/file/shards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

TEST(ShardNameTest, GoesBeforeTheExtension) {
  EXPECT_EQ(ShardName("run/x.safetensors", 3, 16), "run/x-00003-of-00016.safetensors");
  EXPECT_EQ(ShardName("x", 1, 1), "x-00001-of-00001");
  EXPECT_EQ(ShardName("run.d/x", 1, 2), "run.d/x-00001-of-00002");
  EXPECT_EQ(ShardName(".hidden", 1, 2), ".hidden-00001-of-00002");
  EXPECT_EQ(ShardName("a.b.c", 100000, 100000), "a.b-100000-of-100000.c");
  EXPECT_EQ(ShardName("-", 2, 3), "-");
  EXPECT_DEATH(ShardName("x", 0, 3), "shard 0 of 3");
  EXPECT_DEATH(ShardName("x", 4, 3), "shard 4 of 3");
}

TEST(ParseShardNameTest, UndoesShardName) {
  for (const char* path : {"run/x.safetensors", "x", "run.d/x", ".hidden", "a.b.c", "a-00001-of-00002.c"}) {
    for (const auto& [shard, num_shards] : {std::make_pair(3, 16), {1, 1}, {99999, 123456}, {123456, 123456}}) {
      const auto parsed = ParseShardName(ShardName(path, shard, num_shards));
      ASSERT_TRUE(parsed.has_value()) << path;
      EXPECT_EQ(parsed->set, path);
      EXPECT_EQ(parsed->shard, shard);
      EXPECT_EQ(parsed->num_shards, num_shards);
    }
  }
}

TEST(ParseShardNameTest, LeavesOtherNamesAlone) {
  for (const char* path : {"", "-", "x", "x.safetensors", "x-00001.xsf", "x-1-of-2", "x-00003-of-00002",
                           "x-00000-of-00002", "x-000001-of-000002", "x00001-of-00002", "-of-00002", "00001-of-00002",
                           "md-of-00100.xsf", "x-00001-of-99999999999"}) {
    EXPECT_FALSE(ParseShardName(path).has_value()) << path;
  }
}

std::vector<InputFile> Files(InputOrigin origin, const std::vector<int>& shards, int num_shards = 12) {
  std::vector<InputFile> files = {{"other.safetensors", origin}};
  for (const int shard : shards) files.push_back({ShardName("d/x.safetensors", shard, num_shards), origin});
  return files;
}

std::string Error(const std::vector<InputFile>& files) {
  const absl::Status status = CheckShards(files);
  EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

TEST(CheckShardsTest, NamesWhatIsMissing) {
  for (const InputOrigin origin : {InputOrigin::kNamed, InputOrigin::kFound}) {
    EXPECT_EQ(Error(Files(origin, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})), "");
    EXPECT_EQ(Error(Files(origin, {12, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1, 1})), "");
    EXPECT_THAT(Error(Files(origin, {1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12})),
                HasSubstr("d/x-00007-of-00012.safetensors is missing, expected all 12"));
    EXPECT_THAT(Error(Files(origin, {2, 3, 2})),
                HasSubstr("d/x-00001-of-00012.safetensors and 9 more shards are missing"));
  }
}

TEST(CheckShardsTest, OneNamedAloneAndListedOnesAreMeant) {
  EXPECT_EQ(Error(Files(InputOrigin::kNamed, {7})), "");
  EXPECT_EQ(Error(Files(InputOrigin::kNamed, {7, 7})), "");
  EXPECT_EQ(Error(Files(InputOrigin::kListed, {7, 8})), "");
  EXPECT_THAT(Error(Files(InputOrigin::kFound, {7})), HasSubstr("are missing"));
}

TEST(CheckShardsTest, RefusesTwoSetsOfOneName) {
  std::vector<InputFile> files = Files(InputOrigin::kFound, {1, 2}, 2);
  for (const InputFile& file : Files(InputOrigin::kFound, {1, 2, 3}, 3)) files.push_back(file);
  EXPECT_THAT(Error(files), HasSubstr("d/x-00001-of-00002.safetensors and d/x-00001-of-00003.safetensors are both"));
  // Equal names in two directories are two sets.
  files = Files(InputOrigin::kFound, {1, 2}, 2);
  files.push_back({"e/x-00001-of-00001.safetensors", InputOrigin::kFound});
  EXPECT_EQ(Error(files), "");
}

}  // namespace
}  // namespace rutile
