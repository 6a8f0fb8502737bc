#include "lib/kge/training/scores/negative_samples.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "lib/graph/entity_types.h"

namespace rutile {
namespace {

TEST(NegativeSamplesTest, AreDistinctAscendingAndInRange) {
  for (const int64_t count : {0, 1, 7, 99, 100}) {
    const std::vector<int32_t> drawn = DrawNegatives(3, 1, 2, 100, count);
    ASSERT_EQ(drawn.size(), count);
    for (int64_t i = 0; i < count; ++i) {
      EXPECT_TRUE(drawn[i] >= 0 && drawn[i] < 100);
      if (i > 0) {
        EXPECT_LT(drawn[i - 1], drawn[i]);
      }
    }
  }
}

TEST(NegativeSamplesTest, DependOnSeedEpochAndBatchAlone) {
  const std::vector<int32_t> drawn = DrawNegatives(3, 1, 2, 1000, 50);
  EXPECT_EQ(drawn, DrawNegatives(3, 1, 2, 1000, 50));
  EXPECT_NE(drawn, DrawNegatives(4, 1, 2, 1000, 50));
  EXPECT_NE(drawn, DrawNegatives(3, 2, 2, 1000, 50));
  EXPECT_NE(drawn, DrawNegatives(3, 1, 3, 1000, 50));
}

TEST(NegativeSamplesTest, WeightsMakeASumOverAllEntities) {
  EXPECT_EQ(NegativeLogWeight(100, 100), 0);
  EXPECT_DOUBLE_EQ(std::exp(NegativeLogWeight(100, 4)), 25);
}

// Seven entities, of which the first is the tail of most triples. Two are of type "gene", one of these and another are
// of type "drug", four have no type.
std::shared_ptr<KnowledgeGraph> SmallGraph(bool inverse_relations) {
  auto graph = std::make_shared<KnowledgeGraph>();
  graph->entities = {"a", "b", "c", "d", "e", "f", "g"};
  graph->relations = {"r"};
  graph->inverse_relations = inverse_relations;
  graph->train = {{1, 0, 0}, {2, 0, 0}, {3, 0, 0}, {4, 0, 1}};
  EntityTypesBuilder types;
  types.Add(0, "gene");
  types.Add(1, "gene");
  types.Add(1, "drug");
  types.Add(2, "drug");
  graph->entity_types = types.Build(7);
  return graph;
}

KgeOptions SampledOptions(NegativeKind kind, int64_t count) {
  KgeOptions options;
  options.negatives_by = kind;
  options.negatives_per_batch = count;
  options.seed = 5;
  return options;
}

TEST(NegativeSamplerTest, UniformIsDrawNegatives) {
  const NegativeSampler sampler(SmallGraph(true), SampledOptions(NegativeKind::kUniform, 5));
  const Negatives drawn = sampler.Draw(2, 3);
  EXPECT_EQ(drawn.entities, DrawNegatives(5, 2, 3, 7, 5));
  EXPECT_EQ(drawn.log_weight, std::vector<double>(5, NegativeLogWeight(7, 5)));
}

TEST(NegativeSamplerTest, FrequencyCountsAnswers) {
  const NegativeSampler tails(SmallGraph(false), SampledOptions(NegativeKind::kFrequency, 4));
  EXPECT_DOUBLE_EQ(tails.Probability(0), 3.0 / 4);
  EXPECT_DOUBLE_EQ(tails.Probability(1), 1.0 / 4);
  EXPECT_EQ(tails.Probability(4), 0);
  const NegativeSampler both(SmallGraph(true), SampledOptions(NegativeKind::kFrequency, 4));
  EXPECT_DOUBLE_EQ(both.Probability(0), 3.0 / 8);
  EXPECT_DOUBLE_EQ(both.Probability(1), 2.0 / 8);
  EXPECT_DOUBLE_EQ(both.Probability(4), 1.0 / 8);
  EXPECT_EQ(both.Probability(6), 0);
}

// Answers are a, a, a and b: three and a half of four draws are a gene, half a draw is a drug.
TEST(NegativeSamplerTest, TypesAreThoseOfAnswers) {
  const NegativeSampler tails(SmallGraph(false), SampledOptions(NegativeKind::kType, 4));
  EXPECT_DOUBLE_EQ(tails.Probability(0), 3.5 / 4 / 2);
  EXPECT_DOUBLE_EQ(tails.Probability(1), 3.5 / 4 / 2 + 0.5 / 4 / 2);
  EXPECT_DOUBLE_EQ(tails.Probability(2), 0.5 / 4 / 2);
  EXPECT_EQ(tails.Probability(3), 0);
  // With heads, two answers of eight (d and e) have no type.
  const NegativeSampler both(SmallGraph(true), SampledOptions(NegativeKind::kType, 4));
  EXPECT_DOUBLE_EQ(both.Probability(6), 2.0 / 8 / 7);
  double sum = 0;
  for (int32_t e = 0; e < 7; ++e) sum += both.Probability(e);
  EXPECT_DOUBLE_EQ(sum, 1);
}

TEST(NegativeSamplerTest, DrawsDependOnSeedEpochAndBatchAlone) {
  for (const NegativeKind kind : {NegativeKind::kFrequency, NegativeKind::kType}) {
    const NegativeSampler sampler(SmallGraph(true), SampledOptions(kind, 6));
    const Negatives drawn = sampler.Draw(1, 2);
    EXPECT_EQ(drawn.entities, sampler.Draw(1, 2).entities);
    EXPECT_EQ(drawn.log_weight, sampler.Draw(1, 2).log_weight);
    bool differs = false;
    for (int64_t number = 3; number < 10; ++number) {
      differs = differs || sampler.Draw(1, number).entities != drawn.entities;
    }
    EXPECT_TRUE(differs);
    ASSERT_GE(drawn.entities.size(), 3);
    for (size_t i = 1; i < drawn.entities.size(); ++i) EXPECT_LT(drawn.entities[i - 1], drawn.entities[i]);
  }
}

// Each entity counts as one on average, whether answers are likely to be it or not. The mean of 40,000 draws is within
// five of its standard errors.
TEST(NegativeSamplerTest, WeightsMakeSumsOverAllEntitiesOnAverage) {
  constexpr int64_t kDraws = 40000;
  for (const NegativeKind kind : {NegativeKind::kFrequency, NegativeKind::kType}) {
    for (const int64_t count : {4, 5, 7}) {
      const NegativeSampler sampler(SmallGraph(true), SampledOptions(kind, count));
      std::vector<double> sum(7, 0), square(7, 0);
      for (int64_t number = 0; number < kDraws; ++number) {
        const Negatives drawn = sampler.Draw(0, number);
        for (size_t i = 0; i < drawn.entities.size(); ++i) {
          const double weight = std::exp(drawn.log_weight[i]);
          sum[drawn.entities[i]] += weight;
          square[drawn.entities[i]] += weight * weight;
        }
      }
      for (int64_t e = 0; e < 7; ++e) {
        const double mean = sum[e] / kDraws, error = std::sqrt((square[e] / kDraws - mean * mean) / kDraws);
        EXPECT_NEAR(mean, 1, 5 * error) << e;
      }
    }
  }
}

}  // namespace
}  // namespace rutile
