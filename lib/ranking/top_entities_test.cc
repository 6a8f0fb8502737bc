#include "lib/ranking/top_entities.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "lib/base/random.h"

namespace rutile {
namespace {

ScoreTable<double> Column(absl::Span<const double> scores) {
  ScoreTable<double> table;
  table.entity = scores;
  table.num = static_cast<int64_t>(scores.size());
  table.dim = 1;
  return table;
}

// Compares with a complete sort, with ties, NaN, several blocks, and parts added one after another.
TEST(TopEntitiesTest, EqualsASortedList) {
  RandomStream stream(1, "scores");
  std::vector<double> scores;
  for (int i = 0; i < 3000; ++i) {
    scores.push_back(stream.Below(50) == 0 ? std::nan("") : static_cast<double>(stream.Below(200)) / 8);
  }
  std::vector<int32_t> left_out;
  for (int32_t e = 0; e < 3000; e += 3) left_out.push_back(e);
  const std::vector<absl::Span<const int32_t>> both = {left_out, {}};
  const std::vector<double> query = {1, 1};
  for (const int threads : {1, 2}) {
    for (const int64_t k : {1, 10, 2990}) {
      ThreadPool pool(threads);
      TopCollector<double> collector(query, 1, k, both);
      collector.Add(Column(absl::MakeConstSpan(scores).subspan(0, 1700)), 0, &pool);
      collector.Add(Column(absl::MakeConstSpan(scores).subspan(1700)), 1700, &pool);
      const std::vector<TopEntities> top = collector.Finish();
      for (int q = 0; q < 2; ++q) {
        std::vector<int32_t> order;
        for (int32_t e = 0; e < 3000; ++e) {
          if (q == 1 || e % 3 != 0) order.push_back(e);
        }
        std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
          return std::isnan(scores[b]) ? !std::isnan(scores[a]) : scores[a] > scores[b];
        });
        ASSERT_EQ(top[q].best.size(), std::min<size_t>(k, order.size()));
        for (size_t i = 0; i < top[q].best.size(); ++i) ASSERT_EQ(top[q].best[i].entity, order[i]) << i;
      }
    }
  }
}

// The best of a set, without those left out; the softmax is over all.
TEST(TopEntitiesTest, AmongASet) {
  const std::vector<double> scores = {5, 4, 3, 2, 1}, query = {1, 1};
  const std::vector<int32_t> left_out = {3};
  const std::vector<absl::Span<const int32_t>> both = {left_out, {}};
  const EntitySet set(5, {1, 3, 4});
  const std::vector<const EntitySet*> among = {&set, nullptr};
  ThreadPool pool(1);
  TopCollector<double> collector(query, 1, 4, both, among);
  collector.Add(Column(absl::MakeConstSpan(scores).subspan(0, 2)), 0, &pool);
  collector.Add(Column(absl::MakeConstSpan(scores).subspan(2)), 2, &pool);
  const std::vector<TopEntities> top = collector.Finish();
  ASSERT_EQ(top[0].best.size(), 2);
  EXPECT_EQ(top[0].best[0].entity, 1);
  EXPECT_EQ(top[0].best[1].entity, 4);
  EXPECT_EQ(top[1].best.size(), 4);
  EXPECT_EQ(top[0].log_sum_exp, top[1].log_sum_exp);
}

TEST(TopEntitiesTest, LogSumExpDoesNotOverflow) {
  const std::vector<double> scores = {1000, 998, 1000, -1e30}, query = {1};
  ThreadPool pool(1);
  TopCollector<double> collector(query, 1, 1, {});
  collector.Add(Column(scores), 0, &pool);
  EXPECT_NEAR(collector.Finish()[0].log_sum_exp, 1000 + std::log(2 + std::exp(-2.0)), 1e-10);
}

}  // namespace
}  // namespace rutile
