#include "lib/ranking/ranking_metrics.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "lib/kge/layers/conve/golden_conve_testing.h"

namespace rutile {
namespace {

RankValues Values(double optimistic, double pessimistic, double candidates) {
  RankValues values;
  values.optimistic = optimistic;
  values.pessimistic = pessimistic;
  values.realistic = 0.5 * (optimistic + pessimistic);
  values.expected = 0.5 * (1 + candidates);
  return values;
}

TEST(RankingMetricsTest, GoldenMetrics) {
  const std::vector<int64_t> hits_at = {1, 3, 5, 10};
  for (const char* variant : {"dettmers", "tiepin"}) {
    const GoldenConve golden(variant);
    RankSums sums;
    for (const GoldenRank& rank : golden.ranks()) sums.Add(Values(rank.optimistic, rank.pessimistic, 12), hits_at);
    const auto metric = [&](const std::string& name) { return golden.Metric("metrics.realistic", name); };
    EXPECT_EQ(sums.count, 16);
    EXPECT_NEAR(sums.mean_rank(), metric("mr"), 1e-12);
    EXPECT_NEAR(sums.mrr(), metric("mrr"), 1e-12);
    EXPECT_NEAR(sums.mrr_optimistic(), golden.Metric("metrics.optimistic", "mrr"), 1e-12);
    EXPECT_NEAR(sums.mrr_pessimistic(), golden.Metric("metrics.pessimistic", "mrr"), 1e-12);
    for (int i = 0; i < 4; ++i) EXPECT_NEAR(sums.hits_share(i), metric("hits@" + std::to_string(hits_at[i])), 1e-12);
  }
}

TEST(RankingMetricsTest, HalfRanksHitOnlyFromTheNextK) {
  const std::vector<int64_t> hits_at = {1, 2};
  RankSums sums;
  sums.Add(Values(1, 2, 10), hits_at);  // 1.5
  EXPECT_EQ(sums.hits[0], 0);
  EXPECT_EQ(sums.hits[1], 1);
}

TEST(RankingMetricsTest, CountsTiedTargets) {
  RankSums sums, more;
  sums.Add(Values(1, 2, 10), {});
  sums.Add(Values(3, 3, 10), {});
  more.Add(Values(1, 9, 10), {});
  sums.Add(more);
  EXPECT_EQ(sums.tied, 2);
}

TEST(RankingMetricsTest, GroupsOfFrequenciesArePowersOfTwo) {
  const std::pair<int64_t, const char*> cases[] = {{0, "0"},    {1, "1"},           {2, "2-3"},
                                                   {3, "2-3"},  {4, "4-7"},         {7, "4-7"},
                                                   {8, "8-15"}, {1023, "512-1023"}, {1024, "1024-2047"}};
  for (const auto& [frequency, name] : cases) EXPECT_EQ(FrequencyGroupName(FrequencyGroup(frequency)), name);
}

TEST(RankingMetricsTest, FrequenciesCountATripleOnceForEachEntity) {
  // Entity 1 is in three triples, one of them with itself.
  EXPECT_EQ(EntityFrequencies({{0, 0, 1}, {1, 1, 1}, {2, 0, 1}}, 4), (std::vector<int64_t>{1, 3, 1, 0}));
}

// Worked out by hand: entity 0 is in no training triple, 1 in one, 2 in two, 3 in three.
TEST(RankingMetricsTest, FrequencyRowsAreOfTheAnswer) {
  const std::vector<int64_t> frequency = {0, 1, 2, 3};
  const std::vector<Triple> triples = {{0, 0, 1}, {2, 0, 3}, {3, 1, 2}};
  TripleRanks ranks;
  ranks.tail = {Values(2, 2, 9), Values(1, 1, 9), Values(4, 4, 9)};    // of entities 1, 3 and 2
  ranks.head = {Values(8, 8, 9), Values(5, 5, 9), Values(10, 10, 9)};  // of entities 0, 2 and 3
  const std::vector<RankingRow> rows = ComputeFrequencyRows(triples, ranks, {1}, frequency);
  ASSERT_EQ(rows.size(), 5u);  // "0" has a head alone, "1" a tail alone, "2-3" both
  EXPECT_EQ(rows[0].grouping, "frequency");
  EXPECT_EQ(rows[0].group, "0");
  EXPECT_EQ(rows[0].direction, "head");
  EXPECT_DOUBLE_EQ(rows[0].sums.mrr(), 1 / 8.0);
  EXPECT_EQ(rows[1].group, "1");
  EXPECT_EQ(rows[1].direction, "tail");
  EXPECT_DOUBLE_EQ(rows[1].sums.mrr(), 1 / 2.0);
  EXPECT_EQ(rows[2].group, "2-3");
  EXPECT_EQ(rows[2].direction, "both");
  EXPECT_EQ(rows[2].sums.count, 4);
  EXPECT_DOUBLE_EQ(rows[2].sums.mrr(), (1 + 1 / 4.0 + 1 / 5.0 + 1 / 10.0) / 4);
  EXPECT_DOUBLE_EQ(rows[3].sums.mrr(), (1 + 1 / 4.0) / 2);
  EXPECT_DOUBLE_EQ(rows[4].sums.mrr(), (1 / 5.0 + 1 / 10.0) / 2);
  EXPECT_DOUBLE_EQ(rows[3].sums.hits_share(0), 0.5);

  ranks.head.clear();
  const std::vector<RankingRow> tails = ComputeFrequencyRows(triples, ranks, {1}, frequency);
  ASSERT_EQ(tails.size(), 2u);
  EXPECT_EQ(tails[0].group, "1");
  EXPECT_EQ(tails[1].group, "2-3");
}

TEST(RankingMetricsTest, OrderOfChanceHasAdjustedMeanRank1) {
  RankSums sums;
  for (int rank = 1; rank <= 9; ++rank) sums.Add(Values(rank, rank, 9), {});
  EXPECT_DOUBLE_EQ(sums.adjusted_mean_rank(), 1);
}

// By definition: the mean of a metric over all orders is adjusted to 0, and a perfect order to 1. Queries of different
// numbers of entities are averaged before they are adjusted. 99 and 100 are on both sides of the series for 1 + ... +
// 1/n.
TEST(RankingMetricsTest, AdjustedMetricsAre0ByChanceAnd1AtBest) {
  const std::vector<int64_t> hits_at = {1, 5};
  for (const int n : {7, 99, 100, 4321}) {
    RankSums chance, best;
    for (int rank = 1; rank <= n; ++rank) {
      chance.Add(Values(rank, rank, n), hits_at);
      best.Add(Values(1, 1, n), hits_at);
    }
    EXPECT_NEAR(chance.adjusted_mean_rank_index(), 0, 1e-12) << n;
    EXPECT_NEAR(chance.adjusted_mrr(), 0, 1e-12) << n;
    EXPECT_DOUBLE_EQ(best.adjusted_mean_rank_index(), 1) << n;
    EXPECT_DOUBLE_EQ(best.adjusted_mrr(), 1) << n;
    for (int i = 0; i < 2; ++i) {
      EXPECT_NEAR(chance.adjusted_hits_share(i), 0, 1e-12) << n;
      EXPECT_DOUBLE_EQ(best.adjusted_hits_share(i), 1) << n;
    }
  }
  // Worked out by hand. Chance: mean rank (2 + 1) / 2, MRR (11/18 + 1) / 2, Hits@1 (1/3 + 1) / 2; Hits@5 is always 1.
  RankSums sums, last;
  sums.Add(Values(1, 1, 1), hits_at);
  last.Add(Values(3, 3, 3), hits_at);
  sums.Add(last);
  EXPECT_DOUBLE_EQ(sums.adjusted_mean_rank_index(), 1 - (2 - 1) / (1.5 - 1));
  EXPECT_NEAR(sums.adjusted_mrr(), (4.0 / 6 - 29.0 / 36) / (1 - 29.0 / 36), 1e-15);
  EXPECT_NEAR(sums.adjusted_hits_share(0), (0.5 - 2.0 / 3) / (1 - 2.0 / 3), 1e-15);
  EXPECT_TRUE(std::isnan(sums.adjusted_hits_share(1)));
  // A table has an empty cell where every order is perfect.
  RankSums alone;
  alone.Add(Values(1, 1, 1), {1});
  const std::string tsv = RankingRowsToTsv({{"all", "", "tail", alone, {}}}, {1});
  EXPECT_EQ(tsv.substr(tsv.find('\n') + 1),
            "all\t\ttail\t1\t1.000\t1.000000\t1.000000\t1.000000\t1.000000\t1.000000\t\t\t\t0\n");
}

TEST(RankingMetricsTest, CategoriesByMeanNumbers) {
  // Relation 0: one to one. 1: one head with three tails. 2: three heads with one tail. 3: everybody with everybody. 4:
  // 1.5 tails a head on average, the limit itself. 5: nothing.
  const std::vector<Triple> train = {{0, 0, 1}, {2, 0, 3}, {0, 1, 1}, {0, 1, 2}, {0, 1, 3},
                                     {1, 2, 0}, {2, 2, 0}, {3, 2, 0}, {0, 3, 1}, {0, 3, 2},
                                     {1, 3, 1}, {1, 3, 2}, {0, 4, 1}, {0, 4, 2}, {1, 4, 3}};
  const std::vector<RelationCategory> categories = RelationCategories(train, 6);
  const char* const expected[] = {"1-1", "1-N", "N-1", "N-N", "1-N", "untrained"};
  for (int r = 0; r < 6; ++r) EXPECT_EQ(RelationCategoryName(categories[r]), expected[r]) << r;
}

TEST(RankingMetricsTest, RowsSplitAndAddUp) {
  const std::vector<Triple> triples = {{0, 0, 1}, {0, 1, 2}, {1, 0, 2}};
  TripleRanks ranks;
  ranks.tail = {Values(1, 1, 9), Values(2, 2, 9), Values(4, 4, 9)};
  ranks.head = {Values(2, 2, 9), Values(2, 2, 9), Values(8, 8, 9)};
  ranks.head[2].nan = true;
  const std::vector<int64_t> hits_at = {1, 3};
  RankingGroups groups;
  groups.categories = {RelationCategory::kOneToOne, RelationCategory::kManyToMany};
  groups.relations = {"is\ta", "has"};
  const std::vector<RankingRow> rows = ComputeRankingRows(triples, ranks, hits_at, groups);
  const std::string tsv = RankingRowsToTsv(rows, hits_at);
  EXPECT_EQ(tsv.substr(0, tsv.find("category")),
            "grouping\tgroup\tdirection\tcount\tmr\tmrr\thits@1\thits@3\tmrr_optimistic\tmrr_pessimistic\tadjusted_mr\t"
            "adjusted_mr_index\tadjusted_mrr\tadjusted_hits@1\tadjusted_hits@3\tnan\n"
            "all\t\tboth\t6\t3.167\t0.479167\t0.166667\t0.666667\t0.479167\t0.479167\t0.633333\t"
            "0.458333\t0.240403\t0.062500\t0.500000\t1\n"
            "all\t\ttail\t3\t2.333\t0.583333\t0.333333\t0.666667\t0.583333\t0.583333\t0.466667\t"
            "0.666667\t0.392322\t0.250000\t0.500000\t0\n"
            "all\t\thead\t3\t4.000\t0.375000\t0.000000\t0.666667\t0.375000\t0.375000\t0.800000\t"
            "0.250000\t0.088483\t-0.125000\t0.500000\t1\n");
  ASSERT_EQ(rows.size(), 3 * 5);
  EXPECT_EQ(rows[3].group, "1-1");
  EXPECT_EQ(rows[3].sums.count, 4);
  EXPECT_EQ(rows[6].group, "N-N");
  EXPECT_EQ(rows[12].group, "has");
  EXPECT_EQ(rows[13].sums.rank, 2);
  EXPECT_NE(tsv.find("relation\tis a\tboth\t4"), std::string::npos) << tsv;

  // A single direction has no row "both".
  ranks.head.clear();
  const std::vector<RankingRow> tails = ComputeRankingRows(triples, ranks, hits_at, RankingGroups());
  ASSERT_EQ(tails.size(), 1);
  EXPECT_EQ(tails[0].direction, "tail");
}

TEST(RankingMetricsTest, RanksAmongCandidatesStandBesideTheOthers) {
  const std::vector<Triple> triples = {{0, 0, 1}, {0, 1, 2}, {1, 0, 2}};
  const std::vector<int64_t> hits_at = {1};
  TripleRanks ranks;
  ranks.tail = {Values(4, 4, 9), Values(2, 2, 9), Values(5, 5, 9)};
  ranks.tail_among = {Values(2, 2, 3), Values(1, 1, 1), Values(1, 2, 5)};
  ranks.tail_among[1].outside = true;
  RankingGroups groups;
  groups.relations = {"r", "s"};
  const std::vector<RankingRow> rows = ComputeRankingRows(triples, ranks, hits_at, groups);
  ASSERT_EQ(rows.size(), 3);
  EXPECT_EQ(rows[0].sums.count, 3);
  EXPECT_EQ(rows[0].among.count, 2);
  EXPECT_EQ(rows[0].among.outside, 1);
  EXPECT_DOUBLE_EQ(rows[0].among.mrr(), (1 / 2.0 + 1 / 1.5) / 2);
  EXPECT_DOUBLE_EQ(rows[0].among.mean_candidates(), 4);
  EXPECT_EQ(rows[2].among.count, 0);
  EXPECT_EQ(RankingRowsToTsv(rows, hits_at),
            "grouping\tgroup\tdirection\tcount\tmr\tmrr\thits@1\tmrr_optimistic\tmrr_pessimistic\tadjusted_mr\t"
            "adjusted_mr_index\tadjusted_mrr\tadjusted_hits@1\tnan\t"
            "among_count\tamong_outside\tamong_candidates\tamong_mr\tamong_mrr\tamong_hits@1\tamong_mrr_optimistic\t"
            "among_mrr_pessimistic\tamong_adjusted_mr\tamong_adjusted_mr_index\tamong_adjusted_mrr\t"
            "among_adjusted_hits@1\n"
            "all\t\ttail\t3\t3.667\t0.316667\t0.000000\t0.316667\t0.316667\t0.733333\t"
            "0.333333\t0.003408\t-0.125000\t0\t"
            "2\t1\t4.0\t1.750\t0.583333\t0.000000\t0.750000\t0.500000\t0.700000\t0.500000\t0.106079\t-0.363636\n"
            "relation\tr\ttail\t2\t4.500\t0.225000\t0.000000\t0.225000\t0.225000\t0.900000\t"
            "0.125000\t-0.130281\t-0.125000\t0\t"
            "2\t0\t4.0\t1.750\t0.583333\t0.000000\t0.750000\t0.500000\t0.700000\t0.500000\t0.106079\t-0.363636\n"
            "relation\ts\ttail\t1\t2.000\t0.500000\t0.000000\t0.500000\t0.500000\t0.400000\t"
            "0.750000\t0.270786\t-0.125000\t0\t"
            "0\t1\t\t\t\t\t\t\t\t\t\t\n");
  // Where one side alone has candidates, both together have no such ranks.
  ranks.head = ranks.tail;
  const std::vector<RankingRow> both = ComputeRankingRows(triples, ranks, hits_at, {});
  ASSERT_EQ(both.size(), 3);
  EXPECT_EQ(both[0].among.count + both[0].among.outside, 0);
  EXPECT_EQ(both[1].among.count, 2);
  ranks.head_among = ranks.tail_among;
  EXPECT_EQ(ComputeRankingRows(triples, ranks, hits_at, {})[0].among.count, 4);
}

}  // namespace
}  // namespace rutile
