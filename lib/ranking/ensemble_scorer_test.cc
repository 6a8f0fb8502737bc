#include "lib/ranking/ensemble_scorer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "lib/base/random.h"
#include "lib/ranking/link_prediction.h"
#include "lib/ranking/rank_options.h"
#include "lib/ranking/rank_triples.h"
#include "lib/ranking/scorer_testing.h"

namespace rutile {
namespace {

constexpr int32_t kNum = 30, kRelations = 2;

// A model of its own, with rows that are not whole.
template <typename T>
TestModel<T> Model(int64_t dim, double scale, uint64_t seed) {
  TestModel<T> model(kNum, 2 * kRelations, dim);
  RandomStream random(seed, "ensemble");
  for (std::vector<T>* values : {&model.entity, &model.relation, &model.bias}) {
    for (T& value : *values) value = static_cast<T>(scale * random.Normal());
  }
  return model;
}

// The scores of all entities for a query, as kernels compute them.
std::vector<double> Scores(const KgeScorer& scorer, int32_t head, int32_t relation) {
  const bool is_double = scorer.entities.dtype() == DType::kF64;
  Tensor hidden = Tensor::Zeros(scorer.entities.dtype(), {1, scorer.dim()});
  EXPECT_TRUE(scorer.hidden(absl::MakeConstSpan(&head, 1), absl::MakeConstSpan(&relation, 1), &hidden).ok());
  std::vector<double> scores(scorer.num_entities());
  for (int64_t e = 0; e < scorer.num_entities(); ++e) {
    for (int64_t k = 0; k < scorer.dim(); ++k) {
      const int64_t at = e * scorer.dim() + k;
      scores[e] += is_double ? hidden.values<double>()[k] * scorer.entities.values<double>()[at]
                             : static_cast<double>(hidden.values<float>()[k]) * scorer.entities.values<float>()[at];
    }
  }
  return scores;
}

TEST(EnsembleScorerTest, AddsUpStandardizedScores) {
  const TestModel<double> a = Model<double>(3, 1, 1), b = Model<double>(5, 100, 2);
  const TestModel<float> c = Model<float>(4, 0.01, 3);
  const auto ensemble = MakeEnsembleScorer({a.Scorer(), b.Scorer(), c.Scorer()});
  ASSERT_TRUE(ensemble.ok()) << ensemble.status();
  EXPECT_EQ(ensemble->entities.dtype(), DType::kF64);
  for (int32_t head = 0; head < kNum; head += 7) {
    for (int32_t relation = 0; relation < 2 * kRelations; ++relation) {
      std::vector<double> expected(kNum);
      const auto add = [&](const auto& model) {
        std::vector<double> scores;
        double mean = 0, variance = 0;
        for (int32_t e = 0; e < kNum; ++e) {
          scores.push_back(model.Score(head, relation, e));
          mean += scores.back() / kNum;
        }
        for (const double score : scores) variance += (score - mean) * (score - mean) / kNum;
        for (int32_t e = 0; e < kNum; ++e) expected[e] += (scores[e] - mean) / std::sqrt(variance);
      };
      add(a), add(b), add(c);
      const std::vector<double> scores = Scores(*ensemble, head, relation);
      for (int32_t e = 0; e < kNum; ++e) EXPECT_NEAR(scores[e], expected[e], 1e-6);
    }
  }
}

// One model, or one model several times, ranks as the model does.
TEST(EnsembleScorerTest, OfOneModelItsRanksStay) {
  const KnowledgeGraph graph = TestGraph(kNum, kRelations, true);
  const TestModel<double> model = Model<double>(4, 3, 4);
  const auto alone = RankTriples(model.Scorer(), graph, nullptr, {});
  ASSERT_TRUE(alone.ok());
  for (const int times : {1, 3}) {
    const auto ensemble = MakeEnsembleScorer(std::vector<KgeScorer>(times, model.Scorer()));
    const auto ranks = RankTriples(*ensemble, graph, nullptr, {});
    ASSERT_TRUE(ranks.ok()) << ranks.status();
    for (size_t i = 0; i < alone->tail.size(); ++i) {
      EXPECT_EQ(ranks->tail[i].realistic, alone->tail[i].realistic);
      EXPECT_EQ(ranks->head[i].realistic, alone->head[i].realistic);
    }
  }
}

TEST(EnsembleScorerTest, AModelThatSaysNothingAddsNothing) {
  const TestModel<double> model = Model<double>(4, 3, 5);
  TestModel<double> silent = Model<double>(2, 1, 6);
  for (double& value : silent.relation) value = 0;
  for (double& value : silent.bias) value = 7;
  const auto with = MakeEnsembleScorer({model.Scorer(), silent.Scorer()});
  const auto without = MakeEnsembleScorer({model.Scorer()});
  EXPECT_EQ(Scores(*with, 1, 0), Scores(*without, 1, 0));
}

// Models without inverses are ranked by plain loops: each model's own scores of (h, relation, tail), standardized over
// all heads h.
TEST(EnsembleScorerTest, HeadsWithoutInversesByEachModelsOwnScores) {
  KnowledgeGraph graph = TestGraph(kNum, kRelations, /*inverses=*/false);
  TestModel<double> a = Model<double>(3, 1, 1), b = Model<double>(5, 100, 2);
  TestModel<float> c = Model<float>(4, 0.01, 3);
  a.relations = b.relations = c.relations = kRelations;
  const auto ensemble = MakeEnsembleScorer({a.Scorer(), b.Scorer(), c.Scorer()});
  ASSERT_TRUE(ensemble.ok()) << ensemble.status();
  const auto score_heads = [&](int32_t relation, int32_t tail) {
    std::vector<double> sums(kNum);
    const auto add = [&](const auto& model) {
      double mean = 0, variance = 0;
      for (int32_t h = 0; h < kNum; ++h) mean += model.Score(h, relation, tail) / kNum;
      for (int32_t h = 0; h < kNum; ++h) variance += std::pow(model.Score(h, relation, tail) - mean, 2) / kNum;
      for (int32_t h = 0; h < kNum; ++h) sums[h] += (model.Score(h, relation, tail) - mean) / std::sqrt(variance);
    };
    add(a), add(b), add(c);
    return sums;
  };

  RankTriplesOptions options;
  options.direction = RankingDirection::kBoth;
  options.filter = RankingFilter::kTrain;
  const auto ranks = RankTriples(*ensemble, graph, nullptr, options);
  ASSERT_TRUE(ranks.ok()) << ranks.status();
  const std::set<std::tuple<int32_t, int32_t, int32_t>> known = [&] {
    std::set<std::tuple<int32_t, int32_t, int32_t>> triples;
    for (const Triple& t : graph.train) triples.emplace(t.head, t.relation, t.tail);
    return triples;
  }();
  ASSERT_EQ(ranks->head.size(), graph.test.size());
  for (size_t i = 0; i < graph.test.size(); ++i) {
    const Triple& t = graph.test[i];
    const std::vector<double> scores = score_heads(t.relation, t.tail);
    int64_t rank = 1;
    for (int32_t h = 0; h < kNum; ++h) {
      rank += h != t.head && scores[h] > scores[t.head] && known.count({h, t.relation, t.tail}) == 0;
    }
    EXPECT_EQ(ranks->head[i].realistic, static_cast<double>(rank)) << i;
  }

  // Answers of both relations, in the order of the questions.
  LinkPredictionOptions all;
  all.top_k = kNum;
  all.keep_known = true;
  const std::vector<LinkQuery> queries = {{4, 1, true}, {0, 0, false}, {7, 0, true}, {9, 1, true}};
  const auto answers = PredictLinks(*ensemble, graph, queries, all);
  ASSERT_TRUE(answers.ok()) << answers.status();
  for (size_t q = 0; q < queries.size(); ++q) {
    if (!queries[q].for_head) continue;
    const std::vector<double> scores = score_heads(queries[q].relation, queries[q].entity);
    ASSERT_EQ((*answers)[q].size(), static_cast<size_t>(kNum));
    for (const LinkAnswer& answer : (*answers)[q]) EXPECT_NEAR(answer.score, scores[answer.entity], 1e-6) << q;
  }
}

// One model alone ranks heads as it does outside of an ensemble.
TEST(EnsembleScorerTest, OfOneModelWithoutInversesItsRanksOfHeadsStay) {
  const KnowledgeGraph graph = TestGraph(kNum, kRelations, /*inverses=*/false);
  TestModel<double> model = Model<double>(4, 3, 4);
  model.relations = kRelations;
  RankTriplesOptions options;
  options.direction = RankingDirection::kBoth;
  const auto alone = RankTriples(model.Scorer(), graph, nullptr, options);
  ASSERT_TRUE(alone.ok()) << alone.status();
  const auto ensemble = MakeEnsembleScorer({model.Scorer()});
  const auto ranks = RankTriples(*ensemble, graph, nullptr, options);
  ASSERT_TRUE(ranks.ok()) << ranks.status();
  for (size_t i = 0; i < alone->head.size(); ++i) {
    EXPECT_EQ(ranks->head[i].realistic, alone->head[i].realistic);
    EXPECT_EQ(ranks->tail[i].realistic, alone->tail[i].realistic);
  }
}

// Sizes above the pieces that threads take (64 rows, 48 columns), with models of both types.
TEST(EnsembleScorerTest, AnyNumberOfThreadsGivesTheSameBits) {
  constexpr int64_t kMany = 331;
  const auto model = [&](auto zero, int64_t dim, uint64_t seed) {
    TestModel<decltype(zero)> result(kMany, kRelations, dim);
    RandomStream random(seed, "ensemble");
    for (auto* values : {&result.entity, &result.relation, &result.bias}) {
      for (auto& value : *values) value = static_cast<decltype(zero)>(random.Normal());
    }
    return result;
  };
  const TestModel<double> a = model(double{0}, 207, 1);
  const TestModel<float> b = model(float{0}, 50, 2);
  const auto numbers = [](const KgeScorer& scorer) {
    std::vector<int32_t> heads(kMany), relations(kMany, 1);
    std::iota(heads.begin(), heads.end(), 0);
    Tensor hidden = Tensor::Zeros(scorer.entities.dtype(), {kMany, scorer.dim()});
    EXPECT_TRUE(scorer.hidden(heads, relations, &hidden).ok());
    std::vector<double> all;
    for (const Tensor* tensor : {&scorer.entities, &static_cast<const Tensor&>(hidden)}) {
      if (tensor->dtype() == DType::kF64) {
        for (const double value : tensor->values<double>()) all.push_back(value);
      } else {
        for (const float value : tensor->values<float>()) all.push_back(value);
      }
    }
    return all;
  };
  for (const bool both : {true, false}) {
    std::vector<double> tails, heads;
    for (const int threads : {1, 2, 3}) {
      std::vector<KgeScorer> models = {b.Scorer()};
      if (both) models.push_back(a.Scorer());
      const auto ensemble = MakeEnsembleScorer(models, threads);
      ASSERT_TRUE(ensemble.ok()) << ensemble.status();
      EXPECT_EQ(ensemble->entities.dtype(), both ? DType::kF64 : DType::kF32);
      const auto of_heads = ensemble->heads_of(1);
      ASSERT_TRUE(of_heads.ok()) << of_heads.status();
      if (threads == 1) {
        tails = numbers(*ensemble), heads = numbers(*of_heads);
        continue;
      }
      EXPECT_EQ(numbers(*ensemble), tails) << threads;
      EXPECT_EQ(numbers(*of_heads), heads) << threads;
    }
  }
}

TEST(EnsembleScorerTest, RefusesWhatDoesNotFit) {
  const TestModel<double> model = Model<double>(4, 3, 7);
  TestModel<double> larger(kNum + 1, 2 * kRelations, 4), other = Model<double>(4, 3, 8);
  EXPECT_FALSE(MakeEnsembleScorer({model.Scorer(), larger.Scorer()}).ok());
  const TestModel<double> distances(kNum, 2 * kRelations, 4, ScoreForm::kL1);
  EXPECT_THAT(std::string(MakeEnsembleScorer({model.Scorer(), distances.Scorer()}).status().message()),
              ::testing::HasSubstr("distances (transe, rotate) cannot be one of several"));
  other.entity[9] = std::numeric_limits<double>::infinity();
  EXPECT_THAT(std::string(MakeEnsembleScorer({model.Scorer(), other.Scorer()}).status().message()),
              ::testing::HasSubstr("entity 2 is not finite"));
}

}  // namespace
}  // namespace rutile
