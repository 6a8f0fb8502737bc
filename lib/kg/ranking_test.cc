#include "lib/kg/ranking.h"

#include "lib/base/logging.h"

// Keeps the line above first.
#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace rutile {
namespace {

// Counting agrees with sorting out the whole matrix of scores by LibTorch, in both types.
TEST(RankingTest, AgreesWithAMaskedMatrix) {
  at::manual_seed(1);
  for (const auto type : {at::kFloat, at::kDouble}) {
    // Small whole numbers: products are exact, ties are many.
    const at::Tensor hidden = at::randint(-2, 3, {9, 6}, type), entities = at::randint(-2, 3, {300, 6}, type);
    const at::Tensor bias = at::randint(-1, 2, {300}, type);
    const std::vector<int32_t> known = {3, 7, 100, 299};
    std::vector<std::vector<int32_t>> targets;
    std::vector<RankingQuery> queries;
    for (int q = 0; q < 9; ++q) targets.push_back({q, 100, 7 * q});
    for (int q = 0; q < 9; ++q) queries.push_back({targets[q], known});
    RankingOptions options;
    options.num_threads = 2;
    const std::vector<Rank> ranks = RankTargets(hidden, entities, bias, queries, options);
    const at::Tensor scores = at::addmm(bias, hidden, entities.t()).to(at::kDouble);
    ASSERT_EQ(ranks.size(), 27);
    for (int q = 0; q < 9; ++q) {
      for (int t = 0; t < 3; ++t) {
        at::Tensor row = scores[q].clone();
        const double own = row[targets[q][t]].item<double>();
        for (const int32_t e : known) row[e] = -1e9;
        row[targets[q][t]] = own;
        EXPECT_EQ(ranks[3 * q + t].optimistic(), (row > own).sum().item<int64_t>() + 1);
        EXPECT_EQ(ranks[3 * q + t].pessimistic(), (row >= own).sum().item<int64_t>());
      }
    }
    EXPECT_EQ(RankTargets(hidden, entities, at::Tensor(), queries, options).size(), 27);
    EXPECT_EQ(RankTargets(hidden, entities.t().contiguous().t(), bias, queries, RankingOptions())[5].greater,
              ranks[5].greater);
  }
}

}  // namespace
}  // namespace rutile
