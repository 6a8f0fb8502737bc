#include "lib/kge/training/device_ranks.h"

#include <ATen/ATen.h>

#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/machine/parallel_for.h"
#include "lib/ranking/scores/score_sweep.h"

namespace rutile {
namespace {

// Compares with our own counts: ties (small integers), targets that are known and others, several targets of a query,
// none, NaN.
template <typename T>
void Compare(int64_t num_entities, bool with_nan) {
  constexpr int64_t kDim = 3;
  RandomStream random(7, "test");
  const auto small = [&] { return static_cast<T>(random.Below(3)) - 1; };
  std::vector<T> table(num_entities * kDim), hidden;
  for (T& x : table) x = small();
  if (with_nan) table[kDim * (num_entities / 2)] = std::numeric_limits<T>::quiet_NaN();
  std::vector<std::vector<int32_t>> targets, known;
  std::vector<int64_t> row;
  constexpr int64_t kQueries = 7;
  for (int64_t q = 0; q < kQueries; ++q) {
    for (int64_t d = 0; d < kDim; ++d) hidden.push_back(small());
    row.push_back(kQueries - q);  // of one row more than is asked for
    targets.emplace_back();
    known.emplace_back();
    for (int32_t e = 0; e < num_entities; ++e) {
      if (q > 0 && random.Below(3) == 0) targets.back().push_back(e);
      if (q > 1 && random.Below(3) == 0) known.back().push_back(e);
    }
  }
  std::vector<RankingQuery> queries;
  for (int64_t q = 0; q < kQueries; ++q) queries.push_back({targets[q], known[q]});
  ScoreTable<T> entities;
  entities.entity = table;
  entities.num = num_entities;
  entities.dim = kDim;
  ThreadPool pool(1);
  const std::vector<Rank> expected = CountRanks<T>(entities, hidden, queries, &pool);

  const at::Tensor scores = at::zeros({kQueries + 1, num_entities}, c10::CppTypeToScalarType<T>::value);
  for (int64_t q = 0; q < kQueries; ++q) {
    for (int64_t e = 0; e < num_entities; ++e) {
      T sum = 0;
      for (int64_t d = 0; d < kDim; ++d) sum += hidden[q * kDim + d] * table[e * kDim + d];
      scores[row[q]][e] = sum;
    }
  }
  const std::vector<Rank> ranks = CountRanksOnDevice(scores, row, queries);
  ASSERT_EQ(ranks.size(), expected.size());
  int nan = 0;
  for (size_t i = 0; i < ranks.size(); ++i) {
    EXPECT_EQ(ranks[i].greater, expected[i].greater) << i;
    EXPECT_EQ(ranks[i].equal, expected[i].equal) << i;
    EXPECT_EQ(ranks[i].candidates, expected[i].candidates) << i;
    EXPECT_EQ(ranks[i].nan, expected[i].nan) << i;
    nan += ranks[i].nan;
  }
  EXPECT_EQ(nan > 0, with_nan);
}

TEST(DeviceRanksTest, AreThoseOfOurOwnCounts) {
  for (const bool with_nan : {false, true}) {
    Compare<float>(31, with_nan);
    Compare<double>(64, with_nan);
  }
}

TEST(DeviceRanksTest, NoTargets) { EXPECT_TRUE(CountRanksOnDevice(at::zeros({2, 3}), {}, {}).empty()); }

}  // namespace
}  // namespace rutile
