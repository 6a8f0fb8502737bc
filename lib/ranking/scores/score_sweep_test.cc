#include "lib/ranking/scores/score_sweep.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/ranking/scores/score_kernel.h"

namespace rutile {
namespace {

std::vector<float> Values(int64_t n, const char* purpose) {
  RandomStream stream(1, purpose);
  std::vector<float> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<float>(stream.Uniform(-1, 1)));
  return values;
}

// Each score is shown once, ascending for each query, with the bits of a score computed alone; small and large tables,
// wide rows.
TEST(ScoreSweepTest, ShowsEveryScoreOnce) {
  struct Case {
    int64_t queries, num, dim;
  };
  for (const Case& c : {Case{1, 1, 4}, Case{13, 135, 8}, Case{100, 3000, 20}, Case{3, 70, 20000}, Case{0, 5, 2}}) {
    for (const int threads : {1, 2}) {
      const std::vector<float> hidden = Values(c.queries * c.dim, "hidden"), entity = Values(c.num * c.dim, "entity");
      const std::vector<float> bias = Values(c.num, "bias");
      ScoreTable<float> table;
      table.entity = entity;
      table.bias = bias;
      table.num = c.num;
      table.dim = c.dim;
      ThreadPool pool(threads);
      std::vector<std::vector<float>> seen(c.queries);
      SweepScores<float>(table, hidden, &pool,
                         [&](int64_t q, int64_t first, absl::Span<const float> scores, int worker) {
                           ASSERT_LT(worker, threads);
                           ASSERT_EQ(first, static_cast<int64_t>(seen[q].size()));
                           seen[q].insert(seen[q].end(), scores.begin(), scores.end());
                         });
      for (int64_t q = 0; q < c.queries; ++q) {
        ASSERT_EQ(static_cast<int64_t>(seen[q].size()), c.num);
        for (int64_t e = 0; e < c.num; ++e) {
          ASSERT_EQ(seen[q][e], ScoreOne(&hidden[q * c.dim], &entity[e * c.dim], c.dim, bias[e])) << q << ", " << e;
        }
      }
    }
  }
}

TEST(ScoreSweepDeathTest, TablesMustHaveTheirRows) {
  const std::vector<float> values(12);
  ScoreTable<float> table;
  table.entity = values;
  table.num = 5;
  table.dim = 3;
  ThreadPool pool(1);
  EXPECT_DEATH(SweepScores<float>(table, values, &pool, [](int64_t, int64_t, absl::Span<const float>, int) { FAIL(); }),
               "12 vs. 5");
}

}  // namespace
}  // namespace rutile
