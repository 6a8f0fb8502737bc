#include "lib/kge/training/scores/entity_scores.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/kge/layers/conve/golden_conve_testing.h"
#include "lib/kge/model/kge_labels.h"
#include "lib/kge/model/kge_options.h"
#include "lib/matrix/factor_rounding.h"

namespace rutile {
namespace {

struct Result {
  double loss = 0;
  std::vector<double> d_entities, d_bias, d_v;
};

std::vector<double> Values(int64_t n, const char* purpose) {
  RandomStream stream(1, purpose);
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(stream.Normal());
  return values;
}

// Computes by the definition, with all scores at once.
Result Dense(const KgeShape& shape, const KgeBatch& batch, const std::vector<double>& v,
             const std::vector<double>& entities, const std::vector<double>& bias) {
  const int64_t n = shape.num_entities, d = shape.dim();
  Result result{0, std::vector<double>(n * d), std::vector<double>(n), std::vector<double>(v.size())};
  for (int64_t q = 0; q < batch.size(); ++q) {
    const auto begin = batch.positive.begin() + batch.positive_offset[q];
    const auto end = batch.positive.begin() + batch.positive_offset[q + 1];
    const SmoothedLabels labels = SmoothLabels(shape.options, n, end - begin);
    std::vector<double> x(n);
    for (int64_t k = 0; k < n; ++k) {
      x[k] = bias[k];
      for (int64_t j = 0; j < d; ++j) x[k] += v[q * d + j] * entities[k * d + j];
    }
    const double max = *std::max_element(x.begin(), x.end());
    double sum = 0;
    for (const double score : x) sum += std::exp(score - max);
    for (int64_t k = 0; k < n; ++k) {
      const double label = labels.base + (std::find(begin, end, k) != end ? labels.extra : 0);
      double slope;
      if (IsSoftmaxLoss(shape.options.loss)) {
        result.loss += label * (max + std::log(sum) - x[k]);
        slope = std::exp(x[k] - max) / sum - label;
      } else {
        result.loss += (std::log1p(std::exp(-std::abs(x[k]))) + std::max(x[k], 0.0) - label * x[k]) / n;
        slope = (1 / (1 + std::exp(-x[k])) - label) / n;
      }
      result.d_bias[k] += slope;
      for (int64_t j = 0; j < d; ++j) {
        result.d_entities[k * d + j] += slope * v[q * d + j];
        result.d_v[q * d + j] += slope * entities[k * d + j];
      }
    }
  }
  return result;
}

// There are one or several blocks of entities and of queries.
TEST(EntityScoresTest, AgreesWithAllScoresAtOnce) {
  for (const KgeLoss loss : {KgeLoss::kOneToN, KgeLoss::kOneOfN, KgeLoss::kOneVsAll, KgeLoss::kKvsAll}) {
    for (const auto& [queries, entities] : {std::pair<int64_t, int64_t>{5, 17}, {70, 1300}, {1100, 530}}) {
      SCOPED_TRACE(absl::StrCat(kKgeLossNames.Name(loss), " ", queries, " x ", entities));
      KgeShape shape;
      shape.options.embedding_dim = 6;
      shape.options.loss = loss;
      shape.num_entities = entities;
      shape.num_relations = 3;
      const OwnedKgeBatch batch = RandomKgeBatch(shape, queries, IsKeyLoss(loss) ? 4 : 1, 5);
      const auto v = Values(queries * 6, "v"), table = Values(entities * 6, "table"), bias = Values(entities, "bias");
      const Result expected = Dense(shape, batch.View(true), v, table, bias);
      Result actual{0, std::vector<double>(entities * 6, 1.0), std::vector<double>(entities, 1.0),
                    std::vector<double>(queries * 6, 77.0)};
      EntityScores<double> scores(shape, /*pool=*/nullptr, FactorRounding::kNone);
      EntityArrays<double> arrays;
      arrays.v = v.data();
      arrays.entities = table.data();
      arrays.bias = bias.data();
      EXPECT_NEAR(scores.AddLosses(batch.View(true), arrays), expected.loss, 1e-11 * expected.loss);
      arrays.d_entities = actual.d_entities.data();
      arrays.d_bias = actual.d_bias.data();
      arrays.d_v = actual.d_v.data();
      EXPECT_NEAR(scores.AddLosses(batch.View(true), arrays), expected.loss, 1e-11 * expected.loss);
      for (int64_t i = 0; i < entities * 6; ++i) ASSERT_NEAR(actual.d_entities[i] - 1, expected.d_entities[i], 1e-11);
      for (int64_t i = 0; i < entities; ++i) ASSERT_NEAR(actual.d_bias[i] - 1, expected.d_bias[i], 1e-11);
      for (int64_t i = 0; i < queries * 6; ++i) ASSERT_NEAR(actual.d_v[i], expected.d_v[i], 1e-11);
    }
  }
}

}  // namespace
}  // namespace rutile
