#include "lib/influence/files/influence_state.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

TEST(InfluenceStateTest, ReadsWhatItWrites) {
  InfluenceProgress progress;
  progress.pass = 2;
  progress.position = 70;
  progress.done.tests = {3};
  progress.done.offset = {0, 1};
  progress.done.train = {9};
  progress.done.score = {-4};
  progress.open.tests = {5, 6};
  progress.open.offset = {0, 0, 0};
  const InfluenceState state = PackInfluenceState("abc", progress);
  const absl::StatusOr<InfluenceProgress> read = UnpackInfluenceState(state, "abc", {"all"});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->pass, 2);
  EXPECT_EQ(read->position, 70);
  EXPECT_EQ(read->done.score, progress.done.score);
  EXPECT_EQ(read->open.tests, progress.open.tests);
  EXPECT_EQ(read->done.part_names, std::vector<std::string>{"all"});
}

TEST(InfluenceStateTest, WhatIsDamagedIsNamed) {
  InfluenceProgress progress;
  progress.done.offset = progress.open.offset = {0};
  const InfluenceState good = PackInfluenceState("abc", progress);
  const auto error = [](const InfluenceState& state) {
    return std::string(UnpackInfluenceState(state, "abc", {"all"}).status().message());
  };
  EXPECT_EQ(error(good), "");
  InfluenceState bad = good;
  bad.fingerprint = "abd";
  EXPECT_THAT(error(bad), HasSubstr("another computation"));
  bad = good;
  bad.tensors.Set("place", Tensor::Of(std::vector<double>{0, 0}));
  EXPECT_THAT(error(bad), HasSubstr("\"place\""));
  bad = good;
  bad.tensors.Set("open.offset", Tensor::Of(std::vector<int64_t>{1}));
  EXPECT_THAT(error(bad), HasSubstr("\"open.offset\""));
}

}  // namespace
}  // namespace rutile
