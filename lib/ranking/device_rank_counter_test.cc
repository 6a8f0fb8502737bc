#include "lib/ranking/device_rank_counter.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/machine/parallel_for.h"
#include "lib/ranking/gpu/counting_device.h"
#include "lib/ranking/gpu/cuda_counting_device.h"
#include "lib/ranking/gpu/host_counting_device.h"
#include "lib/ranking/rank_triples.h"
#include "lib/ranking/scorer_testing.h"
#include "lib/ranking/scores/score_kernel.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

// The host, and a GPU if there is one.
std::vector<CountingDevice*> Devices() {
  static std::string error;
  static CountingDevice* const host = MakeHostCountingDevice().release();
  static CountingDevice* const gpu = MakeCudaCountingDevice(0, &error).release();
  if (gpu == nullptr) return {host};
  return {host, gpu};
}

// Whether the CPU's scores are chains of fused multiply-adds, like those of devices: (1 + e)^2 - 1 - 2 e is e^2.
template <typename T>
bool CpuFuses() {
  const T e = std::numeric_limits<T>::epsilon(), hidden[2] = {-1, 1 + e}, entity[2] = {1 + 2 * e, 1 + e};
  return ScoreOne<T>(hidden, entity, 2, T{0}) == e * e;
}

// Rows that are no whole numbers, of which some are equal to others, nearly equal, or not finite; queries with no, one
// or many targets; none, some or all entities known.
template <typename T>
struct Problem {
  int64_t num, dim;
  std::vector<T> entity, bias, hidden;
  std::vector<std::vector<int32_t>> targets, known;

  Problem(int64_t n, int64_t d, int64_t num_queries, bool with_bias) : num(n), dim(d) {
    RandomStream stream(1, "rows", n, d);
    for (int64_t i = 0; i < num * dim; ++i) entity.push_back(static_cast<T>(stream.Normal()));
    for (int64_t i = 0; with_bias && i < num; ++i) bias.push_back(static_cast<T>(stream.Normal()));
    for (int64_t i = 0; i < num_queries * dim; ++i) hidden.push_back(static_cast<T>(stream.Normal()));
    const T nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity();
    for (int64_t e = 7; e < num; ++e) {
      if (e % 3 == 1) {
        std::copy_n(entity.begin() + e % 7 * dim, dim, entity.begin() + e * dim);
        if (with_bias) bias[e] = bias[e % 7];
        if (e % 2 == 1) entity[e * dim + e % dim] *= 1 + std::numeric_limits<T>::epsilon();
      }
      if (e % 41 == 8) entity[e * dim] = nan;
      if (e % 43 == 9) entity[e * dim + dim - 1] = infinity;
      if (with_bias && e % 47 == 10) bias[e] = nan;
      if (with_bias && e % 53 == 11) bias[e] = -infinity;
    }
    if (num_queries > 3) hidden[2 * dim] = nan;
    for (int64_t q = 0; q < num_queries; ++q) {
      RandomStream choice(2, "queries", n, q);
      int64_t wanted = q == 5 ? 1500 : q % 50 == 6 ? 200 : q == 0 ? 1 : static_cast<int64_t>(choice.Below(4));
      targets.emplace_back();
      for (; wanted > 0; --wanted) targets.back().push_back(static_cast<int32_t>(choice.Below(num)));
      std::set<int32_t> left_out;
      const uint64_t share = choice.Below(4);  // share of known entities in thirds
      for (int32_t e = 0; e < num; ++e) {
        if (choice.Below(3) < share) left_out.insert(e);
      }
      known.emplace_back(left_out.begin(), left_out.end());
    }
  }

  ScoreTable<T> Table(int64_t first, int64_t count) const {
    ScoreTable<T> table;
    table.entity = absl::MakeConstSpan(entity).subspan(first * dim, count * dim);
    if (!bias.empty()) table.bias = absl::MakeConstSpan(bias).subspan(first, count);
    table.num = count;
    table.dim = dim;
    return table;
  }
  std::vector<RankingQuery> Queries() const {
    std::vector<RankingQuery> queries;
    for (size_t q = 0; q < targets.size(); ++q) queries.push_back({targets[q], known[q]});
    return queries;
  }
  std::vector<int32_t> Rows() const {
    std::vector<int32_t> rows;
    for (const std::vector<int32_t>& some : targets) rows.insert(rows.end(), some.begin(), some.end());
    return rows;
  }
};

void ExpectSame(const std::vector<Rank>& a, const std::vector<Rank>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].greater, b[i].greater) << i;
    ASSERT_EQ(a[i].equal, b[i].equal) << i;
    ASSERT_EQ(a[i].candidates, b[i].candidates) << i;
    ASSERT_EQ(a[i].nan, b[i].nan) << i;
  }
}

template <typename T>
class DeviceRankCounterTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(DeviceRankCounterTest, Types);

TYPED_TEST(DeviceRankCounterTest, EqualsTheCpu) {
  using T = TypeParam;
  if (!CpuFuses<T>()) GTEST_SKIP() << "the CPU rounds products";
  ThreadPool pool(2);
  struct Size {
    int64_t num, dim, queries;
  };
  for (const Size size : {Size{1, 1, 1}, Size{130, 1, 140}, Size{300, 7, 131}, Size{128, 64, 128}, Size{700, 8, 9},
                          Size{257, 200, 61}, Size{64, 9, 300}, Size{2600, 1, 1700}}) {
    for (const bool bias : {false, true}) {
      SCOPED_TRACE(absl::StrCat(size.num, " ", size.dim, " ", size.queries, " ", bias));
      const Problem<T> problem(size.num, size.dim, size.queries, bias);
      const std::vector<RankingQuery> queries = problem.Queries();
      const ScoreTable<T> table = problem.Table(0, size.num);
      const std::vector<Rank> expected = CountRanks<T>(table, problem.hidden, queries, &pool);
      for (CountingDevice* const device : Devices()) {
        SetEntities(table, 0, device);
        const absl::StatusOr<std::vector<Rank>> ranks = CountRanksOn<T>(device, size.num, problem.hidden, queries);
        ASSERT_TRUE(ranks.ok()) << ranks.status();
        ExpectSame(*ranks, expected);
        // The entities stay.
        const absl::StatusOr<std::vector<Rank>> again = CountRanksOn<T>(device, size.num, problem.hidden, queries);
        ASSERT_TRUE(again.ok()) << again.status();
        ExpectSame(*again, expected);
      }
    }
  }
}

TYPED_TEST(DeviceRankCounterTest, PartsAddUp) {
  using T = TypeParam;
  if (!CpuFuses<T>()) GTEST_SKIP() << "the CPU rounds products";
  const Problem<T> problem(300, 13, 40, /*with_bias=*/true);
  const std::vector<RankingQuery> queries = problem.Queries();
  ThreadPool pool(1);
  const std::vector<Rank> expected = CountRanks<T>(problem.Table(0, 300), problem.hidden, queries, &pool);
  for (CountingDevice* const device : Devices()) {
    SetEntities(problem.Table(0, 300), 0, device);
    DeviceRankCounter<T> counter(device, problem.hidden, queries, problem.Rows());
    for (const int64_t first : {0, 110, 220}) {
      const int64_t num = std::min<int64_t>(110, 300 - first);
      SetEntities(problem.Table(first, num), first, device);
      counter.Add(num);
    }
    const absl::StatusOr<std::vector<Rank>> ranks = counter.Finish();
    ASSERT_TRUE(ranks.ok()) << ranks.status();
    ExpectSame(*ranks, expected);
  }
}

TYPED_TEST(DeviceRankCounterTest, ScoresHaveTheBitsOfTheCpu) {
  using T = TypeParam;
  if (!CpuFuses<T>()) GTEST_SKIP() << "the CPU rounds products";
  for (const int64_t dim : {1, 7, 64, 200}) {
    const Problem<T> problem(90, dim, 70, dim % 2 == 0);
    std::vector<int64_t> offset = {0};
    std::vector<T> expected;
    for (size_t q = 0; q < problem.targets.size(); ++q) {
      for (const int32_t t : problem.targets[q]) {
        expected.push_back(ScoreOne(&problem.hidden[q * dim], &problem.entity[t * dim], dim,
                                    problem.bias.empty() ? T{0} : problem.bias[t]));
      }
      offset.push_back(static_cast<int64_t>(expected.size()));
    }
    for (CountingDevice* const device : Devices()) {
      SetEntities(problem.Table(0, 90), 0, device);
      DeviceCounts<T>* const counts = device->counts<T>();
      counts->SetQueries(problem.hidden.data(), static_cast<int64_t>(problem.targets.size()), offset.data());
      counts->ScoreTargets(problem.Rows().data());
      std::vector<T> scores;
      std::vector<int64_t> greater, equal;
      counts->Read(&scores, &greater, &equal);
      ASSERT_EQ(scores.size(), expected.size());
      for (size_t i = 0; i < scores.size(); ++i) {
        // Which NaN it is depends on the processor.
        if (std::isnan(scores[i]) && std::isnan(expected[i])) continue;
        EXPECT_EQ(std::memcmp(&scores[i], &expected[i], sizeof(T)), 0) << i << ": " << scores[i];
      }
      EXPECT_EQ(std::count(greater.begin(), greater.end(), 0), static_cast<int64_t>(greater.size()));
    }
  }
}

TYPED_TEST(DeviceRankCounterTest, NothingToRank) {
  using T = TypeParam;
  const Problem<T> problem(20, 3, 2, /*with_bias=*/false);
  const std::vector<RankingQuery> without_targets(2);
  for (CountingDevice* const device : Devices()) {
    SetEntities(problem.Table(0, 20), 0, device);
    EXPECT_TRUE(CountRanksOn<T>(device, 20, {}, {})->empty());
    EXPECT_TRUE(CountRanksOn<T>(device, 20, problem.hidden, without_targets)->empty());
  }
}

// Whole numbers, so that every CPU has the same scores.
TYPED_TEST(DeviceRankCounterTest, RanksTriplesOfAGraph) {
  using T = TypeParam;
  for (const bool inverses : {false, true}) {
    const KnowledgeGraph graph = TestGraph(30, 3, inverses);
    const TestModel<T> model(30, inverses ? 6 : 3, 5);
    const KgeScorer scorer = model.Scorer();
    RankTriplesOptions options;
    options.direction = RankingDirection::kBoth;
    const absl::StatusOr<TripleRanks> expected = RankTriples(scorer, graph, nullptr, options);
    ASSERT_TRUE(expected.ok()) << expected.status();
    for (CountingDevice* const device : Devices()) {
      options.device = device;
      const absl::StatusOr<TripleRanks> ranks = RankTriples(scorer, graph, nullptr, options);
      ASSERT_TRUE(ranks.ok()) << ranks.status();
      ASSERT_FALSE(ranks->tail.empty());
      ASSERT_EQ(ranks->head.size(), ranks->tail.size());
      for (size_t i = 0; i < ranks->tail.size(); ++i) {
        EXPECT_EQ(ranks->tail[i].optimistic, expected->tail[i].optimistic) << i;
        EXPECT_EQ(ranks->tail[i].pessimistic, expected->tail[i].pessimistic) << i;
        EXPECT_EQ(ranks->head[i].optimistic, expected->head[i].optimistic) << i;
        EXPECT_EQ(ranks->head[i].pessimistic, expected->head[i].pessimistic) << i;
        EXPECT_EQ(ranks->head[i].expected, expected->head[i].expected) << i;
      }
      RankTriplesOptions original = options;
      original.convention = RankingConvention::kOriginal;
      EXPECT_THAT(RankTriples(scorer, graph, nullptr, original).status().message(), HasSubstr("--device=cpu"));
    }
  }
}

TEST(DeviceRankCounterDeathTest, RejectsWhatIsNoEntity) {
  const std::unique_ptr<CountingDevice> device = MakeHostCountingDevice();
  Problem<float> problem(3, 2, 1, /*with_bias=*/false);
  SetEntities(problem.Table(0, 3), 0, device.get());
  problem.targets = {{3}};
  EXPECT_DEATH(CountRanksOn<float>(device.get(), 3, problem.hidden, problem.Queries()).IgnoreError(), "3 of 3");
  problem.targets = {{1}};
  problem.known = {{7}};
  EXPECT_DEATH(CountRanksOn<float>(device.get(), 3, problem.hidden, problem.Queries()).IgnoreError(), "7 of 3");
}

TEST(CudaCountingDeviceTest, IsThereOrSaysWhyNot) {
  std::string error;
  const std::unique_ptr<CountingDevice> device = MakeCudaCountingDevice(0, &error);
  EXPECT_EQ(device == nullptr, !error.empty()) << error;
}

}  // namespace
}  // namespace rutile
