#include "lib/influence/files/influence_tensors.h"

#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

Influence Example() {
  Influence influence;
  influence.tests = {4, -1};
  influence.offset = {0, 2, 3};
  influence.train = {7, 1, 1};
  influence.score = {0.5, 0.25, -1};
  influence.part_score = {1, 2, 3, 4, 5, 6};
  influence.train_order = {1, 7};
  influence.train_self = {2, 3};
  influence.train_self_part = {1, 1, 2, 1};
  influence.test_self = {5, 6};
  influence.test_self_part = {2, 3, 3, 3};
  influence.part_names = {"a", "b"};
  return influence;
}

std::string Error(const NamedTensors& tensors) {
  return std::string(InfluenceFromTensors(tensors, "x.", {"a", "b"}).status().message());
}

TEST(InfluenceTensorsTest, ReadsWhatItWrites) {
  const Influence influence = Example();
  NamedTensors tensors;
  InfluenceToTensors(influence, "x.", &tensors);
  EXPECT_EQ(tensors.size(), 10);
  const absl::StatusOr<Influence> read = InfluenceFromTensors(tensors, "x.", {"a", "b"});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->tests, influence.tests);
  EXPECT_EQ(read->offset, influence.offset);
  EXPECT_EQ(read->train, influence.train);
  EXPECT_EQ(read->score, influence.score);
  EXPECT_EQ(read->part_score, influence.part_score);
  EXPECT_EQ(read->train_order, influence.train_order);
  EXPECT_EQ(read->train_self, influence.train_self);
  EXPECT_EQ(read->train_self_part, influence.train_self_part);
  EXPECT_EQ(read->test_self, influence.test_self);
  EXPECT_EQ(read->test_self_part, influence.test_self_part);
  EXPECT_EQ(read->part_names, influence.part_names);
}

TEST(InfluenceTensorsTest, EmptyMembersAreLeftOut) {
  Influence influence;
  influence.offset = {0};
  NamedTensors tensors;
  InfluenceToTensors(influence, "", &tensors);
  EXPECT_EQ(tensors.size(), 5);
  EXPECT_TRUE(InfluenceFromTensors(tensors, "", {"all"}).ok());
}

TEST(InfluenceTensorsTest, EachRuleNamesItsTensor) {
  struct Case {
    const char* tensor;
    Tensor value;
    const char* message;
  };
  const double nan = std::nan("");
  using Ints = std::vector<int64_t>;
  using Doubles = std::vector<double>;
  const Case cases[] = {
      {"x.tests", Tensor::Of(Ints{4, -2}), "\"x.tests\": entry 1 is -2"},
      {"x.tests", Tensor::Of(Doubles{4, 1}), "\"x.tests\": is F64 [2], expected I64"},
      {"x.offset", Tensor::Of(Ints{0, 3}), "\"x.offset\": is I64 [2], expected I64 [3]"},
      {"x.offset", Tensor::Of(Ints{1, 2, 3}), "does not begin with 0"},
      {"x.offset", Tensor::Of(Ints{0, 4, 3}), "\"x.offset\": entry 2 descends"},
      {"x.offset", Tensor::Of(Ints{0, 2, 4}), "\"x.train\": is I64 [3], expected I64 [4]"},
      {"x.train", Tensor::Of(Ints{7, -1, 1}), "\"x.train\": entry 1 is -1"},
      {"x.train", Tensor::Of(Ints{7, int64_t{1} << 40, 1}), "\"x.train\": entry 1"},
      {"x.score", Tensor::Of(Doubles{1, 2, nan}), "\"x.score\": entry 2 is nan"},
      {"x.part_score", Tensor::Of(Doubles{1, 2, 3}), "\"x.part_score\""},
      {"x.train_order", Tensor::Of(Ints{1}), "\"x.train_self\": is F64 [2], expected F64 [1]"},
      {"x.test_self", Tensor::Of(Doubles{1}), "\"x.test_self\""},
  };
  for (const Case& c : cases) {
    NamedTensors tensors;
    InfluenceToTensors(Example(), "x.", &tensors);
    tensors.Set(c.tensor, c.value);
    EXPECT_THAT(Error(tensors), HasSubstr(c.message));
  }
  EXPECT_THAT(Error({}), HasSubstr("\"x.tests\": is missing"));
}

}  // namespace
}  // namespace rutile
