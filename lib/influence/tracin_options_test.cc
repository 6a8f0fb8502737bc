#include "lib/influence/tracin_options.h"

#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(TracInOptionsTest, DefaultsPass) { EXPECT_TRUE(CheckTracInOptions({}).ok()); }

TEST(TracInOptionsTest, EachRuleIsNamed) {
  struct Case {
    void (*change)(TracInOptions*);
    const char* message;
  };
  const Case cases[] = {
      {[](TracInOptions* o) { o->top_k = -1; }, "top_k: -1"},
      {[](TracInOptions* o) { o->scores = false; }, "none of them"},
      {[](TracInOptions* o) { o->part_scores = true; }, "part_scores: needs parts"},
      {[](TracInOptions* o) { o->memory_limit = -5; }, "memory_limit: -5"},
      {[](TracInOptions* o) { o->threads = 0; }, "threads: 0"},
      {[](TracInOptions* o) {
         o->test_weight = {1, std::nan("")};
       },
       "test_weight: nan for test 1"},
      {[](TracInOptions* o) {
         o->parts = {{"", {0}}};
       },
       "no name"},
      {[](TracInOptions* o) {
         o->parts = {{"a", {}}};
       },
       "\"a\" has no parameters"},
      {[](TracInOptions* o) {
         o->parts = {{"a", {0}}, {"a", {1}}};
       },
       "\"a\" is there twice"},
      {[](TracInOptions* o) {
         o->parts = {{"a", {0, 1}}, {"b", {1}}};
       },
       "\"b\" has a parameter (number 1)"},
  };
  for (const Case& c : cases) {
    TracInOptions options;
    c.change(&options);
    const absl::Status status = CheckTracInOptions(options);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.message));
  }
}

TEST(TracInOptionsTest, NamesAreReadBack) {
  for (const char* name : {"none", "cosine", "train_norm"}) {
    EXPECT_EQ(InfluenceNormalizationName(*ParseInfluenceNormalization(name)), name);
  }
  for (const char* name : {"highest", "lowest", "absolute", "both"}) {
    EXPECT_EQ(InfluenceRankingName(*ParseInfluenceRanking(name)), name);
  }
  EXPECT_THAT(std::string(ParseInfluenceRanking("best").status().message()), HasSubstr("\"best\""));
  EXPECT_THAT(std::string(ParseInfluenceNormalization("l2").status().message()), HasSubstr("\"l2\""));
}

TEST(TrainSamplingTest, RateIsAboveZeroAndAtMostOne) {
  EXPECT_TRUE(CheckTrainSampling({1, 0}).ok());
  for (const double rate : {0.0, -0.1, 1.1, std::nan("")}) {
    EXPECT_THAT(std::string(CheckTrainSampling({rate, 0}).message()), HasSubstr("sample_rate"));
  }
}

TEST(TrainSamplingTest, EachStratumGivesItsRoundedShare) {
  std::vector<int64_t> train(1000), strata;
  std::iota(train.begin(), train.end(), 5000);
  for (int64_t i = 0; i < 1000; ++i) strata.push_back(i < 3 ? 70 : i < 104 ? -1 : i % 7);
  std::map<int64_t, int64_t> size, drawn;
  for (const int64_t s : strata) ++size[s];
  const std::vector<int64_t> sample = SampleTraining(train, strata, {0.1, 17});
  for (const int64_t i : sample) ++drawn[strata[i - 5000]];
  for (const auto& [stratum, n] : size) {
    EXPECT_EQ(drawn[stratum], std::max<int64_t>(1, std::llround(0.1 * static_cast<double>(n)))) << stratum;
  }
  EXPECT_TRUE(std::is_sorted(sample.begin(), sample.end()));
  EXPECT_EQ(std::set<int64_t>(sample.begin(), sample.end()).size(), sample.size());
}

TEST(TrainSamplingTest, KeepsOrderAndFollowsTheSeed) {
  const std::vector<int64_t> train = {9, 3, 7, 1, 8, 2};
  EXPECT_EQ(SampleTraining(train, {}, {1, 5}), train);
  const std::vector<int64_t> half = SampleTraining(train, {}, {0.5, 5});
  EXPECT_EQ(half.size(), 3);
  EXPECT_EQ(half, SampleTraining(train, {}, {0.5, 5}));
  size_t place = 0;
  for (const int64_t i : train) {
    if (place < half.size() && half[place] == i) ++place;
  }
  EXPECT_EQ(place, half.size());
  std::set<std::vector<int64_t>> samples;
  for (uint64_t seed = 0; seed < 50; ++seed) samples.insert(SampleTraining(train, {}, {0.5, seed}));
  EXPECT_GT(samples.size(), 10);
  EXPECT_TRUE(SampleTraining({}, {}, {0.5, 5}).empty());
}

TEST(TrainShardTest, ShardsAreConsecutiveAndEven) {
  const std::vector<int64_t> train = {4, 5, 6, 7, 8};
  EXPECT_THAT(TrainShard(train, 1, 2), ElementsAre(4, 5));
  EXPECT_THAT(TrainShard(train, 2, 2), ElementsAre(6, 7, 8));
  for (const int n : {1, 3, 5, 7}) {
    std::vector<int64_t> all;
    for (int i = 1; i <= n; ++i) {
      for (const int64_t t : TrainShard(train, i, n)) all.push_back(t);
    }
    EXPECT_EQ(all, train);
  }
}

}  // namespace
}  // namespace rutile
