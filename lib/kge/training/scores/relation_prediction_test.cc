#include "lib/kge/training/scores/relation_prediction.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

#include "gtest/gtest.h"
#include "lib/kge/layers/conve/golden_conve_testing.h"
#include "lib/kge/model/kge_init.h"
#include "lib/kge/model/kge_options.h"
#include "lib/machine/parallel_for.h"
#include "lib/matrix/factor_rounding.h"

namespace rutile {
namespace {

KgeShape Shape(KgeModel model, KgeLoss loss, bool group_queries) {
  KgeShape shape;
  shape.options.model = model;
  shape.options.loss = loss;
  shape.options.group_queries = group_queries;
  shape.options.relation_prediction = 0.7;
  shape.options.embedding_dim = 6;
  shape.options.init = {EmbeddingInitKind::kNormal, 1};
  // Neither has an effect on this loss.
  shape.options.candidate_dropout = 0.5;
  shape.options.label_smoothing = 0.1;
  shape.num_entities = 40;
  shape.num_relations = 7;
  return shape;
}

// <h, r, t>; of ComplEx Re <h, r, conj(t)>, with complex numbers as such.
double Score(const KgeShape& shape, const std::vector<double>& p, int64_t h, int64_t r, int64_t t) {
  const KgeShape::Offsets at = shape.offsets();
  const double *const e = &p[at.entity + 6 * h], *const w = &p[at.relation + shape.relation_dim() * r];
  const double* const o = &p[at.entity + 6 * t];
  double score = 0;
  if (shape.options.model == KgeModel::kDistMult) {
    for (int k = 0; k < 6; ++k) score += e[k] * w[k] * o[k];
    return score;
  }
  if (shape.options.model == KgeModel::kRescal) {
    for (int k = 0; k < 36; ++k) score += e[k / 6] * w[k] * o[k % 6];
    return score;
  }
  using Complex = std::complex<double>;
  for (int k = 0; k < 3; ++k) {
    if (shape.options.model == KgeModel::kCp) {
      score += e[k] * w[k] * o[k + 3];
    } else if (shape.options.model == KgeModel::kSimple) {
      score += (e[k] * w[k] * o[k + 3] + e[k + 3] * w[k + 3] * o[k]) / 2;
    } else {
      score += (Complex(e[k], e[k + 3]) * Complex(w[k], w[k + 3]) * std::conj(Complex(o[k], o[k + 3]))).real();
    }
  }
  return score;
}

double Definition(const KgeShape& shape, const KgeBatch& batch, const std::vector<double>& p) {
  double sum = 0;
  for (int64_t b = 0; b < batch.size(); ++b) {
    const int64_t begin = batch.positive_offset[b], end = batch.positive_offset[b + 1];
    for (int64_t k = begin; k < end; ++k) {
      double exponentials = 0;
      for (int64_t r = 0; r < shape.num_relations; ++r) {
        exponentials += std::exp(Score(shape, p, batch.head[b], r, batch.positive[k]));
      }
      const double loss = std::log(exponentials) - Score(shape, p, batch.head[b], batch.relation[b], batch.positive[k]);
      sum += shape.options.relation_prediction * loss /
             (shape.options.group_queries ? 1.0 : static_cast<double>(end - begin));
    }
  }
  return sum;
}

TEST(RelationPredictionTest, IsItsDefinition) {
  for (const KgeModel model :
       {KgeModel::kDistMult, KgeModel::kComplEx, KgeModel::kRescal, KgeModel::kCp, KgeModel::kSimple}) {
    for (const bool group : {false, true}) {
      const KgeShape shape = Shape(model, group ? KgeLoss::kOneVsAll : KgeLoss::kOneToN, group);
      const OwnedKgeBatch batch = RandomKgeBatch(shape, 9, 4, 3);
      std::vector<double> p = InitialKgeParameters(shape, 3), gradient(p.size(), 1.0);
      RelationPrediction<double> prediction(shape, /*pool=*/nullptr, FactorRounding::kNone);
      const double expected = Definition(shape, batch.View(true), p);
      EXPECT_NEAR(prediction.AddLosses(batch.View(true), p.data(), nullptr), expected, 1e-12 * expected);
      EXPECT_NEAR(prediction.AddLosses(batch.View(true), p.data(), gradient.data()), expected, 1e-12 * expected);
      for (size_t k = 0; k < p.size(); ++k) {
        const double value = p[k], h = 1e-5;
        p[k] = value + h;
        const double above = Definition(shape, batch.View(true), p);
        p[k] = value - h;
        const double below = Definition(shape, batch.View(true), p);
        p[k] = value;
        // The difference has an error of h^2 and of rounding, 1e-14 / h.
        EXPECT_NEAR(gradient[k], 1 + (above - below) / (2 * h), 2e-8) << k;
      }
    }
  }
}

// More triples than are in memory at a time.
TEST(RelationPredictionTest, BatchesAddUpAndThreadsGiveTheSameBits) {
  const KgeShape shape = Shape(KgeModel::kComplEx, KgeLoss::kKvsAll, false);
  const int64_t size = RelationPrediction<double>::kTriples;
  const OwnedKgeBatch batch = RandomKgeBatch(shape, size, 3, 3);
  const std::vector<double> p = InitialKgeParameters(shape, 3);
  RelationPrediction<double> prediction(shape, /*pool=*/nullptr, FactorRounding::kNone);
  std::vector<double> whole(p.size(), 0.0), parts(p.size(), 0.0), threads(p.size(), 0.0);
  const double expected = prediction.AddLosses(batch.View(true), p.data(), whole.data());
  ThreadPool pool(2);
  RelationPrediction<double> of_two(shape, &pool, FactorRounding::kNone);
  EXPECT_EQ(of_two.AddLosses(batch.View(true), p.data(), threads.data()), expected);
  EXPECT_EQ(threads, whole);
  double sum = 0;
  for (int64_t first = 0; first < size; first += 100) {
    KgeBatch part = batch.View(true);
    part.head = part.head.subspan(first, 100);
    part.relation = part.relation.subspan(first, 100);
    part.positive_offset = part.positive_offset.subspan(first, part.head.size() + 1);
    sum += prediction.AddLosses(part, p.data(), parts.data());
  }
  EXPECT_NEAR(sum, expected, 1e-12 * expected);
  for (size_t k = 0; k < p.size(); ++k) EXPECT_NEAR(parts[k], whole[k], 1e-11);
}

}  // namespace
}  // namespace rutile
