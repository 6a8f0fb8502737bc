// Ranks among some entities, by the kernels of rank_counts.h, beside their definition.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/matrix/bf16/bf16_products.h"
#include "lib/ranking/entity_set.h"
#include "lib/ranking/rank_counts.h"
#include "lib/ranking/scores/score_kernel.h"
#include "lib/testing/for_each_target.h"

namespace rutile {
namespace {

// Queries with their own lists; of each three, one is ranked among all alone.
struct Queries {
  std::vector<std::vector<int32_t>> targets, known, listed;
  std::vector<std::unique_ptr<EntitySet>> sets;

  std::vector<RankingQuery> Spans() const {
    std::vector<RankingQuery> spans;
    for (size_t q = 0; q < targets.size(); ++q) spans.push_back({targets[q], known[q], sets[q].get()});
    return spans;
  }
};

// Sets of no entity up to all; targets inside and outside, known and not.
Queries RandomQueries(int64_t num_queries, int64_t num) {
  Queries queries;
  for (int64_t q = 0; q < num_queries; ++q) {
    RandomStream stream(7, "queries", 0, q);
    const auto draw = [&](double share) {
      std::vector<int32_t> entities;
      for (int32_t e = 0; e < num; ++e) {
        if (stream.Uniform() < share) entities.push_back(e);
      }
      return entities;
    };
    std::vector<int32_t> targets;
    for (uint64_t t = stream.Below(4); t > 0; --t) targets.push_back(static_cast<int32_t>(stream.Below(num)));
    queries.targets.push_back(targets);
    queries.known.push_back(draw(static_cast<double>(stream.Below(3)) / 3));
    queries.listed.push_back(draw(static_cast<double>(stream.Below(5)) / 4));
    queries.sets.push_back(q % 3 == 0 ? nullptr : std::make_unique<EntitySet>(num, queries.listed.back()));
  }
  return queries;
}

// The definition: sort all that competes, that is the listed entities without the known ones, and the target, which
// competes in any case. Places are counted from 1.
template <typename Score>
Rank Define(int64_t q, int32_t target, const Queries& queries, const Score& score) {
  std::vector<int32_t> competing;
  const std::vector<int32_t>& known = queries.known[q];
  for (const int32_t e : queries.listed[q]) {
    if (e != target && std::find(known.begin(), known.end(), e) == known.end()) competing.push_back(e);
  }
  competing.push_back(target);
  Rank rank;
  rank.candidates = static_cast<int64_t>(competing.size());
  rank.nan = std::isnan(score(target));
  if (rank.nan) {
    rank.greater = rank.candidates - 1;
    return rank;
  }
  std::vector<double> scores;
  for (const int32_t e : competing) {
    if (!std::isnan(score(e))) scores.push_back(score(e));
  }
  std::sort(scores.begin(), scores.end(), [](double a, double b) { return a > b; });
  rank.greater = std::find(scores.begin(), scores.end(), score(target)) - scores.begin();
  rank.equal = std::count(scores.begin(), scores.end(), score(target)) - 1;
  return rank;
}

void ExpectSame(const Rank& a, const Rank& b) {
  EXPECT_EQ(a.greater, b.greater);
  EXPECT_EQ(a.equal, b.equal);
  EXPECT_EQ(a.candidates, b.candidates);
  EXPECT_EQ(a.nan, b.nan);
}

template <typename T>
ScoreTable<T> Table(const std::vector<T>& entity, const std::vector<T>& bias, int64_t dim) {
  ScoreTable<T> table;
  table.entity = entity;
  table.bias = bias;
  table.num = static_cast<int64_t>(entity.size()) / dim;
  table.dim = dim;
  return table;
}

template <typename T>
class RankAmongTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(RankAmongTest, Types);

// Scores are small whole numbers, exact in any order of summation, or NaN.
TYPED_TEST(RankAmongTest, EqualsASortAtAwkwardSizes) {
  using T = TypeParam;
  ForEachTarget([] {
    for (const int64_t num : {1, 12, 63, 64, 65, 135, 2500}) {
      constexpr int64_t kDim = 4, kQueries = 61;
      RandomStream stream(3, "numbers", num);
      std::vector<T> entity, bias, hidden;
      for (int64_t i = 0; i < num * kDim; ++i) entity.push_back(static_cast<T>(stream.Below(5)) - T{2});
      for (int64_t i = 0; i < num; ++i) bias.push_back(i % 50 == 9 ? static_cast<T>(NAN) : static_cast<T>(i % 3));
      for (int64_t i = 0; i < kQueries * kDim; ++i) hidden.push_back(static_cast<T>(stream.Below(5)) - T{2});
      const Queries queries = RandomQueries(kQueries, num);
      const std::vector<RankingQuery> spans = queries.Spans();
      std::vector<RankingQuery> plain = spans;
      for (RankingQuery& query : plain) query.among = nullptr;
      for (const int threads : {1, 2}) {
        ThreadPool pool(threads);
        const RanksAmong ranks = CountRanksAmong<T>(Table(entity, bias, kDim), hidden, spans, &pool);
        const RanksAmong all = CountRanksAmong<T>(Table(entity, bias, kDim), hidden, plain, &pool);
        EXPECT_TRUE(all.among.empty());
        ASSERT_EQ(ranks.among.size(), all.all.size());
        size_t i = 0;
        for (int64_t q = 0; q < kQueries; ++q) {
          const auto score = [&](int64_t e) {
            double sum = bias[e];
            for (int64_t k = 0; k < kDim; ++k) sum += static_cast<double>(hidden[q * kDim + k]) * entity[e * kDim + k];
            return sum;
          };
          for (const int32_t target : queries.targets[q]) {
            SCOPED_TRACE(absl::StrCat(num, " ", threads, " ", q, " ", target));
            ExpectSame(ranks.all[i], all.all[i]);
            if (queries.sets[q] != nullptr) {
              ExpectSame(ranks.among[i], Define(q, target, queries, score));
              EXPECT_LE(ranks.among[i].pessimistic(), ranks.all[i].pessimistic());
            } else {
              ExpectSame(ranks.among[i], Rank());
            }
            ++i;
          }
        }
      }
    }
  });
}

// Rounded scores, in every form that this machine has, and parts of the table that begin anywhere count the same.
TEST(RankAmongTest, RoundedScoresAndPartsCountTheSame) {
  constexpr int64_t kNum = 4300, kQueries = 35;
  const Queries queries = RandomQueries(kQueries, kNum);
  const std::vector<RankingQuery> spans = queries.Spans();
  for (const int64_t dim : {1, 37}) {
    RandomStream stream(4, "rows", dim);
    std::vector<float> entity, hidden, bias, targets;
    for (int64_t i = 0; i < kNum * dim; ++i) entity.push_back(static_cast<float>(stream.Normal()));
    for (int64_t i = 0; i < kQueries * dim; ++i) hidden.push_back(static_cast<float>(stream.Normal()));
    for (int64_t e = 0; e < kNum; ++e) bias.push_back(static_cast<float>(stream.Normal()));
    for (int64_t e = 100; e < kNum; e += 3) {  // ties
      std::copy_n(entity.begin() + e % 7 * dim, dim, entity.begin() + e * dim);
      bias[e] = bias[e % 7];
    }
    for (int64_t e = 7; e < kNum; e += 211) bias[e] = -std::numeric_limits<float>::infinity();
    const ScoreTable<float> table = Table(entity, bias, dim);
    for (int64_t q = 0; q < kQueries; ++q) {
      for (const int32_t t : queries.targets[q]) {
        targets.push_back(ScoreOne(&hidden[q * dim], &entity[t * dim], dim, bias[t]));
      }
    }
    const auto count = [&](std::optional<Bf16Form> form, int64_t part, int threads) {
      ThreadPool pool(threads);
      RankCounter<float> counter(hidden, dim, spans, targets);
      counter.set_rounding(form);
      for (int64_t first = 0; first < kNum; first += part) {
        ScoreTable<float> rows = table;
        rows.num = std::min(part, kNum - first);
        rows.entity = table.entity.subspan(first * dim, rows.num * dim);
        rows.bias = table.bias.subspan(first, rows.num);
        counter.Add(rows, first, &pool);
      }
      return counter.Finish();
    };
    size_t i = 0;
    const RanksAmong whole = count(std::nullopt, kNum, 1);
    for (int64_t q = 0; q < kQueries; ++q) {
      const auto score = [&](int64_t e) { return ScoreOne(&hidden[q * dim], &entity[e * dim], dim, bias[e]); };
      for (const int32_t target : queries.targets[q]) {
        if (queries.sets[q] != nullptr) ExpectSame(whole.among[i], Define(q, target, queries, score));
        ++i;
      }
    }
    std::vector<RanksAmong> others = {count(std::nullopt, 1777, 2)};
    for (const Bf16Form form : Bf16Forms()) {
      others.push_back(count(form, kNum, 1));
      others.push_back(count(form, 2001, 2));
    }
    for (const RanksAmong& other : others) {
      ASSERT_EQ(other.among.size(), whole.among.size());
      for (size_t k = 0; k < whole.among.size(); ++k) {
        ExpectSame(other.all[k], whole.all[k]);
        ExpectSame(other.among[k], whole.among[k]);
      }
    }
  }
}

}  // namespace
}  // namespace rutile
