#include "lib/ranking/sort_position.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"
#include "lib/base/random.h"

namespace rutile {
namespace {

// Sorts the complete list stably, as the original code did.
int64_t Sorted(std::vector<double> scores, const std::vector<int32_t>& known, int32_t target) {
  std::vector<float> p;
  for (const double s : scores) p.push_back(1 / (1 + std::exp(-static_cast<float>(s))));
  const float own = p[target];
  for (const int32_t e : known) p[e] = 0;
  p[target] = own;
  std::vector<int32_t> order(p.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return std::isnan(p[a]) ? !std::isnan(p[b]) : p[a] > p[b]; });
  return std::find(order.begin(), order.end(), target) - order.begin() + 1;
}

TEST(SortPositionTest, IsThePlaceInASortedList) {
  constexpr int kNum = 1200;  // more than a block
  RandomStream stream(1, "scores");
  std::vector<double> scores;
  for (int e = 0; e < kNum; ++e) {
    const uint64_t kind = stream.Below(20);
    // Ties, saturated probabilities (1 from 17 on, 0 below -104), and NaN.
    scores.push_back(kind == 0   ? std::numeric_limits<double>::quiet_NaN()
                     : kind == 1 ? -200
                     : kind < 4  ? 17 + static_cast<double>(kind)
                                 : static_cast<double>(stream.Below(30)) / 3 - 5);
  }
  std::vector<int32_t> known, targets;
  for (int32_t e = 0; e < kNum; e += 7) known.push_back(e);
  for (int32_t e = 0; e < kNum; e += 11) targets.push_back(e);
  ScoreTable<double> table;
  table.entity = scores;
  table.num = kNum;
  table.dim = 1;
  const std::vector<double> hidden = {1};
  const std::vector<RankingQuery> queries = {{targets, known}};
  ThreadPool pool(1);
  const std::vector<int64_t> positions = SortPositions<double>(table, hidden, queries, &pool);
  ASSERT_EQ(positions.size(), targets.size());
  for (size_t i = 0; i < targets.size(); ++i) {
    EXPECT_EQ(positions[i], Sorted(scores, known, targets[i])) << targets[i] << ": " << scores[targets[i]];
  }
}

}  // namespace
}  // namespace rutile
