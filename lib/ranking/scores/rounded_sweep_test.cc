#include "lib/ranking/scores/rounded_sweep.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "lib/base/random.h"

namespace rutile {
namespace {

std::vector<float> Values(int64_t n, const char* purpose) {
  RandomStream stream(1, purpose);
  std::vector<float> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<float>(stream.Normal()));
  return values;
}

// Each score comes once, ascending for each query, and within its bound of the exact one, but not much nearer.
TEST(RoundedSweepTest, ShowsEveryScoreWithinItsBound) {
  struct Case {
    int64_t queries, num, dim;
  };
  for (const Case& c : {Case{1, 1, 4}, Case{33, 135, 8}, Case{150, 5000, 20}, Case{3, 70, 2000}, Case{0, 5, 2}}) {
    const std::vector<float> hidden = Values(c.queries * c.dim, "hidden"), entity = Values(c.num * c.dim, "entity");
    const std::vector<float> bias = Values(c.num, "bias");
    ScoreTable<float> table;
    table.entity = entity;
    table.bias = bias;
    table.num = c.num;
    table.dim = c.dim;
    for (const Bf16Form form : Bf16Forms()) {
      for (const int threads : {1, 2}) {
        ThreadPool pool(threads);
        RoundedSweep sweep(table, hidden, form, &pool);
        std::vector<int64_t> seen(c.queries);
        double most = 0;
        for (int64_t begin = 0; begin < c.num; begin += RoundedSweep::kEntities) {
          sweep.Visit(begin, [&](int64_t q, const RoundedScores& at, int worker) {
            ASSERT_LT(worker, threads);
            ASSERT_EQ(at.first, seen[q]);
            ASSERT_LE(at.block.n, RoundedSweep::kBlock);
            seen[q] += at.block.n;
            for (int64_t k = 0; k < at.block.n; ++k) {
              const int64_t e = at.first + k;
              ASSERT_EQ(at.block.rows + k * c.dim, entity.data() + e * c.dim);
              ASSERT_EQ(at.block.bias[k], bias[e]);
              double exact = 0;
              for (int64_t i = 0; i < c.dim; ++i) {
                exact += static_cast<double>(hidden[q * c.dim + i]) * entity[e * c.dim + i];
              }
              const double reach = at.bound.rounded * at.block.rounded[k] + at.bound.rest * at.block.rest[k];
              const double error = std::abs(at.scores[k] - exact);
              ASSERT_LE(error, reach) << q << ", " << e;
              if (threads == 1) most = std::max(most, error / reach);
            }
          });
        }
        for (int64_t q = 0; q < c.queries; ++q) ASSERT_EQ(seen[q], c.num);
        if (threads == 1 && c.queries * c.num > 1000) {
          EXPECT_GT(most, 0.01);
        }
      }
    }
  }
}

}  // namespace
}  // namespace rutile
