#include "lib/ranking/rank_counts.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/kge/layers/conve/golden_conve_testing.h"
#include "lib/matrix/bf16/bf16_products.h"
#include "lib/ranking/scores/score_kernel.h"
#include "lib/testing/for_each_target.h"

namespace rutile {
namespace {

// Queries with their own lists.
struct Queries {
  std::vector<std::vector<int32_t>> targets, known;

  std::vector<RankingQuery> Spans() const {
    std::vector<RankingQuery> spans;
    for (size_t q = 0; q < targets.size(); ++q) spans.push_back({targets[q], known[q]});
    return spans;
  }
};

template <typename T>
ScoreTable<T> Table(const std::vector<T>& entity, const std::vector<T>& bias, int64_t dim) {
  ScoreTable<T> table;
  table.entity = entity;
  table.bias = bias;
  table.num = static_cast<int64_t>(entity.size()) / dim;
  table.dim = dim;
  return table;
}

// The plain double loop that defines ranks. Scores are small whole numbers, exact in any order of summation.
template <typename T>
std::vector<Rank> Reference(const std::vector<T>& entity, const std::vector<T>& bias, const std::vector<T>& hidden,
                            int64_t dim, const Queries& queries) {
  const int64_t num = static_cast<int64_t>(entity.size()) / dim;
  std::vector<Rank> ranks;
  for (size_t q = 0; q < queries.targets.size(); ++q) {
    const auto score = [&](int64_t e) {
      double sum = bias.empty() ? 0 : bias[e];
      for (int64_t k = 0; k < dim; ++k) sum += static_cast<double>(hidden[q * dim + k]) * entity[e * dim + k];
      return sum;
    };
    for (const int32_t target : queries.targets[q]) {
      const double own = score(target);
      Rank rank;
      rank.nan = std::isnan(own);
      rank.candidates = 1;
      for (int64_t e = 0; e < num; ++e) {
        const auto& known = queries.known[q];
        if (e == target || std::binary_search(known.begin(), known.end(), e)) continue;
        ++rank.candidates;
        if (rank.nan || score(e) > own) ++rank.greater;
        if (score(e) == own) ++rank.equal;
      }
      ranks.push_back(rank);
    }
  }
  return ranks;
}

void ExpectSame(const std::vector<Rank>& a, const std::vector<Rank>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].greater, b[i].greater) << i;
    EXPECT_EQ(a[i].equal, b[i].equal) << i;
    EXPECT_EQ(a[i].candidates, b[i].candidates) << i;
    EXPECT_EQ(a[i].nan, b[i].nan) << i;
  }
}

template <typename T>
std::vector<T> WholeNumbers(int64_t n, const char* purpose, int limit) {
  RandomStream stream(1, purpose);
  std::vector<T> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<T>(stream.Below(2 * limit + 1)) - static_cast<T>(limit));
  return values;
}

// Queries with no, one or many targets; none, some or all entities known; targets known or not.
Queries RandomQueries(int64_t num_queries, int64_t num) {
  Queries queries;
  for (int64_t q = 0; q < num_queries; ++q) {
    RandomStream stream(2, "queries", 0, q);
    std::vector<int32_t> targets;
    for (uint64_t t = stream.Below(4); t > 0; --t) targets.push_back(static_cast<int32_t>(stream.Below(num)));
    std::set<int32_t> known;
    const uint64_t share = stream.Below(4);  // share of known entities in thirds
    for (int32_t e = 0; e < num; ++e) {
      if (stream.Below(3) < share) known.insert(e);
    }
    queries.targets.push_back(targets);
    queries.known.emplace_back(known.begin(), known.end());
  }
  return queries;
}

template <typename T>
class RankCountsTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(RankCountsTest, Types);

TYPED_TEST(RankCountsTest, EqualsThePlainLoopWithTiesForAnyThreads) {
  using T = TypeParam;
  for (const int64_t num : {1, 12, 135, 2500}) {
    constexpr int64_t kDim = 8, kQueries = 61;
    const std::vector<T> entity = WholeNumbers<T>(num * kDim, "entity", 2), bias = WholeNumbers<T>(num, "bias", 1);
    const std::vector<T> hidden = WholeNumbers<T>(kQueries * kDim, "hidden", 2), none;
    const Queries queries = RandomQueries(kQueries, num);
    const std::vector<RankingQuery> spans = queries.Spans();
    const std::vector<Rank> expected = Reference(entity, bias, hidden, kDim, queries);
    const std::vector<Rank> without_bias = Reference(entity, none, hidden, kDim, queries);
    ForEachTarget([&] {
      ThreadPool one(1), two(2);
      ExpectSame(CountRanks<T>(Table(entity, bias, kDim), hidden, spans, &one), expected);
      ExpectSame(CountRanks<T>(Table(entity, bias, kDim), hidden, spans, &two), expected);
      ExpectSame(CountRanks<T>(Table(entity, none, kDim), hidden, spans, &two), without_bias);
    });
  }
}

TYPED_TEST(RankCountsTest, NanTargetsRankLastAndOthersBelowEveryNumber) {
  using T = TypeParam;
  const T nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity();
  ThreadPool pool(1);
  const std::vector<T> hidden = {1};
  const std::vector<T> entity = {nan, 1, infinity, nan, 2, -infinity, 1};
  Queries queries{{{0, 1, 2, 3, 5}}, {{3, 4}}};
  const std::vector<RankingQuery> spans = queries.Spans();
  const std::vector<Rank> ranks = CountRanks<T>(Table<T>(entity, {}, 1), hidden, spans, &pool);
  EXPECT_TRUE(ranks[0].nan);
  EXPECT_EQ(ranks[0].realistic(), 5);    // of entities 0, 1, 2, 5 and 6
  EXPECT_EQ(ranks[1].realistic(), 2.5);  // below infinity, as high as 6
  EXPECT_EQ(ranks[2].realistic(), 1);
  EXPECT_TRUE(ranks[3].nan);
  EXPECT_EQ(ranks[3].candidates, 6);  // the target is known, but stays
  EXPECT_EQ(ranks[3].realistic(), 6);
  EXPECT_EQ(ranks[4].realistic(), 4);  // minus infinity is above NaN
  ExpectSame(ranks, Reference<T>(entity, {}, hidden, 1, queries));
  // A model whose scores are all NaN is the worst there is, not the best.
  const std::vector<T> all_nan(7, nan);
  for (const Rank& rank : CountRanks<T>(Table<T>(all_nan, {}, 1), hidden, spans, &pool)) {
    EXPECT_EQ(rank.realistic(), rank.candidates);
  }
}

TYPED_TEST(RankCountsTest, AllOthersKnownMakesTheFirst) {
  using T = TypeParam;
  ThreadPool pool(1);
  const std::vector<T> hidden = {1}, entity = {5, 1, 3};
  const Queries queries{{{1}, {1}}, {{0, 1, 2}, {0, 2}}};
  const std::vector<RankingQuery> spans = queries.Spans();
  const std::vector<T> both = {1, 1};
  for (const Rank& rank : CountRanks<T>(Table<T>(entity, {}, 1), both, spans, &pool)) {
    EXPECT_EQ(rank.realistic(), 1);
    EXPECT_EQ(rank.candidates, 1);
  }
}

// With rows that are not small whole numbers, equal rows have equal scores wherever they are, so no tie is missed
// (LibKGE's issue 221), for every pair of positions in several blocks.
TYPED_TEST(RankCountsTest, EqualRowsTieWhereverTheyLie) {
  using T = TypeParam;
  constexpr int64_t kNum = 1500, kDim = 37;
  RandomStream stream(3, "rows");
  std::vector<T> row, hidden, entity;
  for (int64_t k = 0; k < kDim; ++k) row.push_back(static_cast<T>(stream.Normal()));
  for (int64_t k = 0; k < 5 * kDim; ++k) hidden.push_back(static_cast<T>(stream.Normal()));
  for (int64_t e = 0; e < kNum; ++e) entity.insert(entity.end(), row.begin(), row.end());
  Queries queries;
  for (int q = 0; q < 5; ++q) {
    queries.targets.push_back({0, 31, 700, 1499});
    queries.known.emplace_back();
  }
  const std::vector<RankingQuery> spans = queries.Spans();
  ThreadPool pool(2);
  for (const Rank& rank : CountRanks<T>(Table<T>(entity, {}, kDim), hidden, spans, &pool)) {
    EXPECT_EQ(rank.greater, 0);
    EXPECT_EQ(rank.equal, kNum - 1);
    EXPECT_EQ(rank.realistic(), 0.5 * (1 + kNum));
  }
}

TYPED_TEST(RankCountsTest, PartsOfTheTableAddUp) {
  using T = TypeParam;
  constexpr int64_t kNum = 50, kDim = 4;
  const std::vector<T> entity = WholeNumbers<T>(kNum * kDim, "entity", 2);
  const std::vector<T> hidden = WholeNumbers<T>(20 * kDim, "hidden", 2);
  const Queries queries = RandomQueries(20, kNum);
  const std::vector<RankingQuery> spans = queries.Spans();
  std::vector<T> scores;
  for (size_t q = 0; q < queries.targets.size(); ++q) {
    for (const int32_t t : queries.targets[q]) {
      T sum = 0;
      for (int64_t k = 0; k < kDim; ++k) sum += hidden[q * kDim + k] * entity[t * kDim + k];
      scores.push_back(sum);
    }
  }
  ThreadPool pool(1);
  RankCounter<T> counter(hidden, kDim, spans, scores);
  for (int64_t first = 0; first < kNum; first += 20) {
    ScoreTable<T> part;
    part.num = std::min<int64_t>(20, kNum - first);
    part.dim = kDim;
    part.entity = absl::MakeConstSpan(entity).subspan(first * kDim, part.num * kDim);
    counter.Add(part, first, &pool);
  }
  ExpectSame(counter.Finish().all, Reference<T>(entity, {}, hidden, kDim, queries));
}

// Counts by rounded scores, in every form that this machine has, equal those of the exact scores: with rows that are
// equal or nearly so, numbers that are not finite or huge, targets among the known or not, in parts, with two threads.
TEST(RankCountsTest, RoundedScoresDecideTheSame) {
  enum { kPlain, kNearTies, kZeros, kNotFinite, kHuge, kTiny, kLargeBias, kKinds };
  constexpr int64_t kNum = 4300, kQueries = 35;
  const Queries queries = RandomQueries(kQueries, kNum);
  const std::vector<RankingQuery> spans = queries.Spans();
  for (int kind = 0; kind < kKinds; ++kind) {
    for (const int64_t dim : {1, 37, 160}) {
      RandomStream stream(4, "rows", kind, dim);
      const double scale = kind == kHuge ? 1e18 : kind == kTiny ? 1e-21 : 1;
      std::vector<float> entity, hidden, bias;
      for (int64_t i = 0; i < kNum * dim; ++i) entity.push_back(static_cast<float>(scale * stream.Normal()));
      for (int64_t i = 0; i < kQueries * dim; ++i) hidden.push_back(static_cast<float>(scale * stream.Normal()));
      for (int64_t e = 0; e < kNum; ++e) {
        bias.push_back(static_cast<float>((kind == kLargeBias ? 1e6 : 1) * stream.Normal()));
      }
      if (kind == kZeros) std::fill(hidden.begin(), hidden.end(), 0.0f);
      for (int64_t e = 0; e < kNum; ++e) {
        if (kind == kNearTies && e % 3 > 0) {
          const int64_t like = e % 7;
          std::copy_n(entity.begin() + like * dim, dim, entity.begin() + e * dim);
          bias[e] = bias[like];
          if (e % 3 > 1) entity[e * dim + e % dim] *= 1 + 1.2e-7f;
        }
        if (kind == kZeros) bias[e] = static_cast<float>(e % 5);
        if (kind != kNotFinite) continue;
        const float infinity = std::numeric_limits<float>::infinity();
        if (e % 97 == 5) entity[e * dim] = std::nanf("");
        if (e % 101 == 6) entity[e * dim] = infinity;
        if (e % 103 == 7) bias[e] = -infinity;
        if (e % 107 == 8) bias[e] = infinity;
      }
      if (kind == kNotFinite) hidden[3 * dim] = std::nanf("");
      const ScoreTable<float> table = Table(entity, bias, dim);
      std::vector<float> targets;
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
        return counter.Finish().all;
      };
      const std::vector<Rank> expected = count(std::nullopt, kNum, 1);
      for (const Bf16Form form : Bf16Forms()) {
        if (dim > 100 && form != Bf16Forms().front()) continue;  // slow
        SCOPED_TRACE(absl::StrCat(kind, " ", dim, " ", Bf16FormName(form)));
        ExpectSame(count(form, kNum, 1), expected);
        ExpectSame(count(form, 2000, 2), expected);
      }
    }
  }
}

// Golden scores of an independent implementation, with exact ties, as rows of a table that unit vectors select.
TYPED_TEST(RankCountsTest, GoldenRanks) {
  using T = TypeParam;
  for (const char* variant : {"dettmers", "tiepin"}) {
    const GoldenConve golden(variant);
    const int64_t num = golden.shape().num_entities, count = golden.ranks().size();
    const std::vector<double> scores = golden.Array("rank.scores").ToDoubles();
    std::vector<T> entity(num * count), hidden(count * count);
    Queries queries;
    for (int64_t i = 0; i < count; ++i) {
      hidden[i * count + i] = 1;
      for (int64_t e = 0; e < num; ++e) entity[e * count + i] = static_cast<T>(scores[i * num + e]);
      queries.targets.push_back({golden.ranks()[i].triple.tail});
      queries.known.push_back(golden.ranks()[i].filtered);
    }
    ThreadPool pool(1);
    std::vector<RankingQuery> spans = queries.Spans();
    const std::vector<T> none;
    const std::vector<Rank> ranks = CountRanks<T>(Table(entity, none, count), hidden, spans, &pool);
    int ties = 0;
    for (int64_t i = 0; i < count; ++i) {
      EXPECT_EQ(ranks[i].optimistic(), golden.ranks()[i].optimistic) << variant << i;
      EXPECT_EQ(ranks[i].pessimistic(), golden.ranks()[i].pessimistic) << variant << i;
      EXPECT_EQ(ranks[i].realistic(), golden.ranks()[i].realistic) << variant << i;
      ties += ranks[i].equal > 0;
    }
    EXPECT_GT(ties, 3) << variant;
    for (RankingQuery& query : spans) query.known = {};
    const std::vector<Rank> raw = CountRanks<T>(Table(entity, none, count), hidden, spans, &pool);
    for (int64_t i = 0; i < count; ++i) EXPECT_EQ(raw[i].pessimistic(), golden.ranks()[i].raw_pessimistic);
  }
}

TEST(RankCountsDeathTest, RejectsWhatIsNoEntity) {
  const std::vector<float> entity = {1, 2, 3}, hidden = {1};
  ThreadPool pool(1);
  const Queries beyond{{{3}}, {{}}}, known{{{1}}, {{7}}};
  const std::vector<RankingQuery> a = beyond.Spans(), b = known.Spans();
  EXPECT_DEATH(CountRanks<float>(Table<float>(entity, {}, 1), hidden, a, &pool), "3 of 3");
  EXPECT_DEATH(CountRanks<float>(Table<float>(entity, {}, 1), hidden, b, &pool), "7 of 3");
}

}  // namespace
}  // namespace rutile
