#include "lib/influence/files/merge_influence.h"

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/influence/dense_products_testing.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

std::string Error(const std::vector<Influence>& shares) {
  std::vector<const Influence*> pointers;
  for (const Influence& share : shares) pointers.push_back(&share);
  const absl::Status status = MergeInfluence(pointers, InfluenceRanking::kHighest, 3).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

// Merged shards equal the whole, whatever their number, also if some have no training examples.
TEST(MergeInfluenceTest, ShardsEqualTheWhole) {
  DenseProducts products(20, 3, 0);
  const std::vector<GradientProducts*> checkpoints = {&products};
  const std::vector<double> rates = {0.5};
  const std::vector<int64_t> tests = {2, 0};
  std::vector<int64_t> train(20);
  std::iota(train.begin(), train.end(), 0);
  for (const InfluenceRanking ranking :
       {InfluenceRanking::kHighest, InfluenceRanking::kLowest, InfluenceRanking::kAbsolute, InfluenceRanking::kBoth}) {
    for (const int64_t top_k : {0, 3, 7, 50}) {
      TracInOptions options;
      options.ranking = ranking;
      options.top_k = top_k;
      options.train_self = options.test_self = options.part_scores = true;
      options.parts = {{"a", {0}}, {"c", {3}}};
      const Influence whole = *ComputeInfluence({checkpoints, rates, train, tests, {}}, options);
      for (const int shards : {1, 2, 7, 30}) {
        std::vector<Influence> shares;
        for (int i = 1; i <= shards; ++i) {
          shares.push_back(*ComputeInfluence({checkpoints, rates, TrainShard(train, i, shards), tests, {}}, options));
        }
        std::vector<const Influence*> pointers;
        for (const Influence& share : shares) pointers.push_back(&share);
        const absl::StatusOr<Influence> merged = MergeInfluence(pointers, ranking, top_k);
        ASSERT_TRUE(merged.ok()) << merged.status();
        EXPECT_EQ(merged->tests, whole.tests);
        EXPECT_EQ(merged->offset, whole.offset);
        EXPECT_EQ(merged->train, whole.train);
        EXPECT_EQ(merged->score, whole.score);
        EXPECT_EQ(merged->part_score, whole.part_score);
        EXPECT_EQ(merged->train_order, whole.train_order);
        EXPECT_EQ(merged->train_self, whole.train_self);
        EXPECT_EQ(merged->train_self_part, whole.train_self_part);
        EXPECT_EQ(merged->test_self, whole.test_self);
        EXPECT_EQ(merged->test_self_part, whole.test_self_part);
        EXPECT_EQ(merged->part_names, whole.part_names);
      }
    }
  }
}

TEST(MergeInfluenceTest, WhatDoesNotBelongTogetherIsNamed) {
  Influence a;
  a.tests = {0, 1};
  a.offset = {0, 1, 2};
  a.train = {0, 0};
  a.score = {1, 2};
  a.train_order = {0, 1};
  a.train_self = {1, 1};
  a.test_self = {3, 4};
  a.part_names = {"all"};
  Influence b = a;
  b.train = {5, 6};
  b.train_order = {5, 6};
  EXPECT_EQ(Error({}), "no shares");
  EXPECT_THAT(Error({a, b, a}), HasSubstr("training example 0 is in shares 1 and 3"));
  Influence other = b;
  other.tests = {0, 2};
  EXPECT_THAT(Error({a, other}), HasSubstr("shares 1 and 2 differ in their tests"));
  other = b;
  other.part_names = {"some"};
  EXPECT_THAT(Error({a, other}), HasSubstr("their parts"));
  other = b;
  other.test_self = {3, 5};
  EXPECT_THAT(Error({a, other}), HasSubstr("the tests' self-influence"));
  other = b;
  other.part_score = {1, 2};
  EXPECT_THAT(Error({a, other}), HasSubstr("scores of parts"));
  other = b;
  other.train_self.clear();
  EXPECT_THAT(Error({a, other}), HasSubstr("the training examples' self-influence"));
}

}  // namespace
}  // namespace rutile
