#include "lib/kge/new_entities/table_loss.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "lib/kge/new_entities/new_entities_testing.h"

namespace rutile {
namespace {

std::vector<double> RandomVectors(int64_t size) {
  RandomStream random(2, "vectors");
  std::vector<double> v(size);
  for (double& x : v) x = random.Normal();
  return v;
}

// Returns the score of an entity, by its definition.
double Score(const TrainedKge& model, int64_t entity, const double* v) {
  const KgeShape::Offsets at = model.shape.offsets();
  const std::vector<double> p = model.parameters.ToDoubles();
  double score = at.entity_bias >= 0 ? p[at.entity_bias + entity] : 0;
  for (int64_t k = 0; k < model.shape.dim(); ++k) score += p[at.entity + entity * model.shape.dim() + k] * v[k];
  return score;
}

TEST(TableLossTest, ValuesByPlainLoops) {
  for (const KgeModel kind : {KgeModel::kComplEx, KgeModel::kConvE}) {
    for (const KgeLoss loss : {KgeLoss::kKvsAll, KgeLoss::kOneToN}) {
      const int64_t num = 30;
      const TrainedKge model = SmallModel(kind, loss, num, 2);
      ThreadPool pool(1);
      TableLoss table(model.shape, model.parameters, &pool);
      const std::vector<QueryLabels> queries = {{SmoothLabels(model.shape.options, num, 2), {3, 29}},
                                                {SmoothLabels(model.shape.options, num, 1), {0}}};
      const std::vector<double> v = RandomVectors(2 * 12);
      std::vector<double> d_v(v.size());
      double expected = 0;
      for (size_t q = 0; q < queries.size(); ++q) {
        double sum = 0;
        for (int64_t e = 0; e < num; ++e) sum += std::exp(Score(model, e, &v[12 * q]));
        EXPECT_NEAR(table.LogSums(v)[q], std::log(sum), 1e-12);
        for (int64_t e = 0; e < num; ++e) {
          double y = queries[q].labels.base;
          for (const int32_t tail : queries[q].tails) y += tail == e ? queries[q].labels.extra : 0;
          const double s = Score(model, e, &v[12 * q]);
          expected += loss == KgeLoss::kKvsAll ? -y * (s - std::log(sum)) : std::log(1 + std::exp(s)) - y * s;
        }
      }
      EXPECT_NEAR(table.Evaluate(queries, v, absl::MakeSpan(d_v)), expected, 1e-10);
    }
  }
}

TEST(TableLossTest, GradientsAreDerivatives) {
  for (const KgeLoss loss : {KgeLoss::kOneVsAll, KgeLoss::kOneOfN}) {
    const TrainedKge model = SmallModel(KgeModel::kConvE, loss, 20, 2, DType::kF32);
    ThreadPool pool(1);
    TableLoss table(model.shape, model.parameters, &pool);
    const std::vector<QueryLabels> queries = {{SmoothLabels(model.shape.options, 20, 1), {7}}};
    std::vector<double> v = RandomVectors(12), gradient(12), unused(12);
    table.Evaluate(queries, v, absl::MakeSpan(gradient));
    for (size_t k = 0; k < v.size(); ++k) {
      const double at = v[k], step = 1e-5;
      v[k] = at + step;
      const double above = table.Evaluate(queries, v, absl::MakeSpan(unused));
      v[k] = at - step;
      const double below = table.Evaluate(queries, v, absl::MakeSpan(unused));
      v[k] = at;
      // Third derivatives are of the order of 1, and values of 10 with 1e-16 of rounding.
      EXPECT_NEAR(gradient[k], (above - below) / (2 * step), 1e-8) << k;
    }
  }
}

// Below, at and above the rows that are converted at a time, and the entities of a piece; more queries than scores are
// in memory for.
TEST(TableLossTest, PiecesAndThreadsDoNotMatter) {
  for (const int64_t num : {511, 512, 513, 33000}) {
    const TrainedKge model = SmallModel(KgeModel::kDistMult, KgeLoss::kOneVsAll, num, 1, DType::kF32);
    ThreadPool one(1), two(2);
    TableLoss table(model.shape, model.parameters, &one), again(model.shape, model.parameters, &two);
    const std::vector<QueryLabels> queries(70, {{0, 1}, {static_cast<int32_t>(num - 1)}});
    const std::vector<double> v = RandomVectors(70 * 12);
    std::vector<double> d_v(v.size()), d_again(v.size()), d_single(12);
    const double value = table.Evaluate(queries, v, absl::MakeSpan(d_v));
    EXPECT_EQ(again.Evaluate(queries, v, absl::MakeSpan(d_again)), value);
    EXPECT_EQ(d_again, d_v);
    double sum = 0;
    for (int q = 0; q < 70; ++q) {
      sum += table.Evaluate(absl::MakeConstSpan(queries).subspan(q, 1), absl::MakeConstSpan(v).subspan(q * 12, 12),
                            absl::MakeSpan(d_single));
      for (int k = 0; k < 12; ++k) EXPECT_EQ(d_single[k], d_v[12 * q + k]) << num;
    }
    EXPECT_NEAR(sum, value, 1e-9);
  }
}

}  // namespace
}  // namespace rutile
