#include "lib/kge/training/scores/distance_scores.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/kge/layers/conve/golden_conve_testing.h"
#include "lib/kge/model/kge_labels.h"
#include "lib/kge/training/scores/entity_scores.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/testing/for_each_target.h"

namespace rutile {
namespace {

template <typename T>
std::vector<T> Values(int64_t n, const char* purpose) {
  RandomStream stream(1, purpose);
  std::vector<T> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<T>(stream.Normal()));
  return values;
}

KgeShape Shape(KgeModel model, int64_t norm, int64_t dim, int64_t num_entities, KgeLoss loss = KgeLoss::kOneVsAll) {
  KgeShape shape;
  shape.options.model = model;
  shape.options.distance_norm = norm;
  shape.options.embedding_dim = dim;
  shape.options.input_dropout = 0;
  shape.options.loss = loss;
  shape.num_entities = num_entities;
  shape.num_relations = 3;
  return shape;
}

const std::vector<std::pair<KgeModel, int64_t>>& Kinds() {
  static const auto& kinds = *new std::vector<std::pair<KgeModel, int64_t>>{
      {KgeModel::kTransE, 1}, {KgeModel::kTransE, 2}, {KgeModel::kRotatE, 1}, {KgeModel::kRotatE, 2}};
  return kinds;
}

// The distance as the papers have it, and its derivative by q [d] times `slope`, added to d_q and subtracted from d_e.
double Distance(const KgeShape& shape, const double* q, const double* e) {
  const int64_t d = shape.dim();
  std::vector<double> moduli;
  if (shape.options.model == KgeModel::kTransE) {
    for (int64_t k = 0; k < d; ++k) moduli.push_back(std::abs(q[k] - e[k]));
  } else {
    for (int64_t k = 0; k < d / 2; ++k) moduli.push_back(std::hypot(q[k] - e[k], q[k + d / 2] - e[k + d / 2]));
  }
  double sum = 0;
  for (const double x : moduli) sum += std::pow(x, shape.options.distance_norm);
  return std::pow(sum, 1.0 / shape.options.distance_norm);
}

void AddSlope(const KgeShape& shape, const double* q, const double* e, double slope, double* d_q, double* d_e) {
  const int64_t d = shape.dim();
  const double distance = Distance(shape, q, e);
  for (int64_t k = 0; k < d; ++k) {
    const double x = q[k] - e[k];
    double by = 0;
    if (shape.options.distance_norm == 2) {
      by = distance == 0 ? 0 : x / distance;
    } else if (shape.options.model == KgeModel::kTransE) {
      by = x > 0 ? 1 : x < 0 ? -1 : 0;
    } else {
      const int64_t other = k < d / 2 ? k + d / 2 : k - d / 2;
      const double modulus = std::hypot(x, q[other] - e[other]);
      by = modulus == 0 ? 0 : x / modulus;
    }
    d_q[k] += slope * by;
    d_e[k] -= slope * by;
  }
}

struct Result {
  double loss = 0;
  std::vector<double> d_entities, d_v;
};

// Computes losses by their definition, with all scores of a query at once.
Result Dense(const KgeShape& shape, const KgeBatch& batch, const std::vector<double>& v,
             const std::vector<double>& entities) {
  const int64_t n = shape.num_entities, d = shape.dim();
  Result result{0, std::vector<double>(n * d), std::vector<double>(v.size())};
  for (int64_t q = 0; q < batch.size(); ++q) {
    const auto begin = batch.positive.begin() + batch.positive_offset[q];
    const auto end = batch.positive.begin() + batch.positive_offset[q + 1];
    const SmoothedLabels labels = SmoothLabels(shape.options, n, end - begin);
    std::vector<double> x(n);
    for (int64_t k = 0; k < n; ++k) x[k] = -Distance(shape, &v[q * d], &entities[k * d]);
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
      AddSlope(shape, &v[q * d], &entities[k * d], -slope, &result.d_v[q * d], &result.d_entities[k * d]);
    }
  }
  return result;
}

template <typename T>
Result Blocked(const KgeShape& shape, const KgeBatch& batch, const std::vector<double>& v,
               const std::vector<double>& entities, int threads, bool add, double before) {
  ThreadPool pool(threads);
  EntityScores<T> scores(shape, &pool, FactorRounding::kNone);
  const std::vector<T> v_t(v.begin(), v.end()), entities_t(entities.begin(), entities.end());
  std::vector<T> d_entities(entities.size(), static_cast<T>(before)), d_v(v.size(), T(9));
  EntityArrays<T> arrays;
  arrays.v = v_t.data();
  arrays.entities = entities_t.data();
  arrays.d_entities = d_entities.data();
  arrays.d_v = d_v.data();
  arrays.add = add;
  Result result;
  result.loss = scores.AddLosses(batch, arrays);
  result.d_entities.assign(d_entities.begin(), d_entities.end());
  result.d_v.assign(d_v.begin(), d_v.end());
  return result;
}

void ExpectNear(const std::vector<double>& actual, const std::vector<double>& expected, double tolerance, double plus) {
  ASSERT_EQ(actual.size(), expected.size());
  double largest = 1e-3;
  for (const double x : expected) largest = std::max(largest, std::abs(x));
  for (size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i] - plus, expected[i], tolerance * largest) << i;
}

TEST(DistanceScoresTest, FormsOfTheModels) {
  EXPECT_EQ(ScoreFormOf(KgeOptions()), ScoreForm::kDot);
  EXPECT_EQ(ScoreFormOf(Shape(KgeModel::kTransE, 1, 4, 2).options), ScoreForm::kL1);
  EXPECT_EQ(ScoreFormOf(Shape(KgeModel::kTransE, 2, 4, 2).options), ScoreForm::kL2);
  EXPECT_EQ(ScoreFormOf(Shape(KgeModel::kRotatE, 1, 4, 2).options), ScoreForm::kModuli);
  EXPECT_EQ(ScoreFormOf(Shape(KgeModel::kRotatE, 2, 4, 2).options), ScoreForm::kL2);
}

TEST(DistanceScoresTest, FewQueriesOfLargeGraphsAreChecked) {
  EXPECT_EQ(QueriesToCheck(Shape(KgeModel::kRotatE, 1, 200, 40943), 64), 4);
  EXPECT_EQ(QueriesToCheck(Shape(KgeModel::kRotatE, 1, 200, 300), 64), 64);
  EXPECT_EQ(QueriesToCheck(Shape(KgeModel::kRotatE, 1, 200, 5000000), 64), 1);
  EXPECT_EQ(QueriesToCheck(Shape(KgeModel::kRotatE, 2, 200, 40943), 64), 64);
  EXPECT_EQ(QueriesToCheck(Shape(KgeModel::kTransE, 1, 200, 40943), 64), 64);
  EXPECT_EQ(QueriesToCheck(Shape(KgeModel::kComplEx, 1, 200, 40943), 64), 64);
}

// Sizes below and above a block and a piece, rows of less than a vector and of several with a rest; one entity's row is
// a query's vector, where the distance is 0 and has no derivative.
TEST(DistanceScoresTest, LossesAndGradientsAreThoseOfTheDefinition) {
  struct Sizes {
    int64_t entities, queries, dim;
  };
  for (const auto& [model, norm] : Kinds()) {
    for (const KgeLoss loss : {KgeLoss::kOneVsAll, KgeLoss::kOneToN}) {
      for (const Sizes& sizes : {Sizes{5, 3, 2}, Sizes{33, 70, 38}, Sizes{1030, 9, 70}}) {
        const KgeShape shape = Shape(model, norm, sizes.dim, sizes.entities, loss);
        const OwnedKgeBatch owned = RandomKgeBatch(shape, sizes.queries, 1, 4);
        const KgeBatch batch = owned.View(/*training=*/true, /*epoch=*/2);
        const std::vector<double> v = Values<double>(sizes.queries * sizes.dim, "v");
        std::vector<double> entities = Values<double>(sizes.entities * sizes.dim, "entities");
        std::copy_n(v.begin(), sizes.dim, entities.begin() + 3 * sizes.dim);
        const Result expected = Dense(shape, batch, v, entities);
        for (const bool add : {false, true}) {
          const Result fp64 = Blocked<double>(shape, batch, v, entities, 1, add, 0.5);
          EXPECT_NEAR(fp64.loss, expected.loss, 1e-12 * expected.loss);
          ExpectNear(fp64.d_v, expected.d_v, 1e-12, 0);
          ExpectNear(fp64.d_entities, expected.d_entities, 1e-12, add ? 0.5 : 0);
          const Result two = Blocked<double>(shape, batch, v, entities, 2, add, 0.5);
          EXPECT_EQ(two.loss, fp64.loss);
          EXPECT_EQ(two.d_v, fp64.d_v);
          EXPECT_EQ(two.d_entities, fp64.d_entities);
        }
        const Result fp32 = Blocked<float>(shape, batch, v, entities, 1, false, 0);
        EXPECT_NEAR(fp32.loss, expected.loss, 1e-5 * expected.loss);
        ExpectNear(fp32.d_v, expected.d_v, 1e-5, 0);
        ExpectNear(fp32.d_entities, expected.d_entities, 1e-5, 0);
      }
    }
  }
}

// Large batches, whose queries take several blocks.
TEST(DistanceScoresTest, SeveralBlocksOfQueries) {
  const KgeShape shape = Shape(KgeModel::kTransE, 2, 6, 21);
  const OwnedKgeBatch owned = RandomKgeBatch(shape, 600, 1, 3);
  const KgeBatch batch = owned.View(/*training=*/true, /*epoch=*/0);
  const std::vector<double> v = Values<double>(600 * 6, "v"), entities = Values<double>(21 * 6, "entities");
  const Result expected = Dense(shape, batch, v, entities);
  for (const int threads : {1, 2}) {
    const Result actual = Blocked<double>(shape, batch, v, entities, threads, false, 0);
    EXPECT_NEAR(actual.loss, expected.loss, 1e-12 * expected.loss);
    ExpectNear(actual.d_v, expected.d_v, 1e-12, 0);
    ExpectNear(actual.d_entities, expected.d_entities, 1e-12, 0);
  }
}

// Each instruction set has the same slopes.
TEST(DistanceScoresTest, AllTargets) {
  const int64_t d = 22, n = 35, queries = 6;
  const std::vector<double> v = Values<double>(queries * d, "v"), rows = Values<double>(n * d, "rows");
  const std::vector<double> slopes = Values<double>(queries * n, "slopes");
  for (const auto& [model, norm] : Kinds()) {
    const KgeShape shape = Shape(model, norm, d, n);
    std::vector<double> d_v(v.size(), 1.0), d_rows(rows.size(), 2.0);
    for (int64_t q = 0; q < queries; ++q) {
      for (int64_t e = 0; e < n; ++e) {
        AddSlope(shape, &v[q * d], &rows[e * d], -slopes[q * n + e], &d_v[q * d], &d_rows[e * d]);
      }
    }
    ForEachTarget([&, model = model, norm = norm] {
      DistanceScores<double> distances(ScoreFormOf(shape.options), nullptr);
      const int64_t stride = DistanceScores<double>::Stride(n) + 1;
      std::vector<double> scores(queries * stride), own_v(v.size(), 1.0), own_rows(rows.size(), 2.0);
      const DistanceBlock<double> block = {v.data(), rows.data(), queries, n, d};
      distances.Scores(block, scores.data(), stride);
      for (int64_t q = 0; q < queries; ++q) {
        for (int64_t e = 0; e < n; ++e) {
          EXPECT_NEAR(scores[q * stride + e], -Distance(shape, &v[q * d], &rows[e * d]), 1e-13);
          scores[q * stride + e] = slopes[q * n + e];
        }
      }
      distances.AddGradients(block, scores.data(), stride, own_v.data(), own_rows.data());
      ExpectNear(own_v, d_v, 1e-13, 0);
      ExpectNear(own_rows, d_rows, 1e-13, 0);
    });
  }
}

}  // namespace
}  // namespace rutile
