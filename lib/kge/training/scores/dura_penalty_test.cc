#include "lib/kge/training/scores/dura_penalty.h"

#include <cmath>
#include <vector>

#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"

namespace rutile {
namespace {

using ::testing::IsEmpty;

KgeOptions Options(KgeModel model, int64_t dim) {
  KgeOptions options;
  options.model = model;
  options.regularizer = KgeRegularizer::kDura;
  options.regularization = 0.5;
  options.embedding_dim = dim;
  options.loss = KgeLoss::kKvsAll;
  options.label_smoothing = 0;
  return options;
}

std::vector<double> RandomRows(int64_t size, const char* purpose) {
  RandomStream stream(7, purpose);
  std::vector<double> rows(size);
  for (double& x : rows) x = stream.Normal();
  return rows;
}

// The embedding (3 + 4i, -1) and the relation (2i, 1 + i) of ComplEx, which are also four real numbers each.
TEST(DuraPenaltyTest, ClosedForms) {
  const std::vector<double> e = {3, -1, 4, 0}, w = {0, 1, 2, 1};
  const WeightedPair pair = {0, 0, 2};
  const auto of = [&](KgeModel model) {
    return DuraPenalty(Options(model, 4)).SumOf(absl::MakeConstSpan(&pair, 1), e.data(), w.data());
  };
  EXPECT_EQ(of(KgeModel::kComplEx), 2 * (25 * (0.5 + 1.5 * 4) + 1 * (0.5 + 1.5 * 2)));
  EXPECT_EQ(of(KgeModel::kDistMult), 2 * (9 * 0.5 + 1 * (0.5 + 1.5) + 16 * (0.5 + 1.5 * 4) + 0));
}

TEST(DuraPenaltyTest, GradientIsTheDifference) {
  const std::vector<WeightedPair> pairs = {{0, 1, 0.3}, {1, 0, 1}, {1, 1, 0.7}, {3, 0, 2}};
  for (const KgeModel model : {KgeModel::kDistMult, KgeModel::kComplEx}) {
    const DuraPenalty penalty(Options(model, 6));
    std::vector<double> entities = RandomRows(4 * 6, "entities"), relations = RandomRows(2 * 6, "relations");
    std::vector<double> d_entities(4 * 6, 1.0), d_relations(2 * 6, 1.0);
    // Two ranges are the whole.
    penalty.AddEntityGradients<double>(pairs, {0, 2}, entities.data(), relations.data(), d_entities.data());
    penalty.AddEntityGradients<double>(pairs, {2, 4}, entities.data(), relations.data(), d_entities.data() + 12);
    penalty.AddRelationGradients<double>(pairs, entities.data(), relations.data(), d_relations.data());
    const auto expect_slope = [&](double* x, double slope) {
      const double at = *x, h = 1e-5;
      *x = at + h;
      const double above = penalty.SumOf<double>(pairs, entities.data(), relations.data());
      *x = at - h;
      const double below = penalty.SumOf<double>(pairs, entities.data(), relations.data());
      *x = at;
      // The sum is quadratic in each number: only rounding of sums near 100 / h is left.
      EXPECT_NEAR(slope, 1 + (above - below) / (2 * h), 1e-8);
    };
    for (size_t k = 0; k < entities.size(); ++k) expect_slope(&entities[k], d_entities[k]);
    for (size_t k = 0; k < relations.size(); ++k) expect_slope(&relations[k], d_relations[k]);
  }
}

// Queries (4, 0) with the tails 1 and 4, and (1, 0) with the tail 2.
TEST(FindPenalizedPairsTest, WeighsPairsByHowOftenTheyOccur) {
  const std::vector<int32_t> head = {4, 1}, relation = {0, 0}, positive = {1, 4, 2};
  const std::vector<int64_t> offset = {0, 2, 3};
  KgeBatch batch;
  batch.head = head;
  batch.relation = relation;
  batch.positive_offset = offset;
  batch.positive = positive;
  KgeOptions options = Options(KgeModel::kDistMult, 4);
  using Rows = std::vector<std::vector<double>>;
  const auto found = [&] {
    Rows rows;
    for (const WeightedPair& pair : FindPenalizedPairs(options, batch)) {
      rows.push_back({static_cast<double>(pair.entity), static_cast<double>(pair.relation), pair.weight});
    }
    return rows;
  };
  EXPECT_EQ(found(), (Rows{{1, 0, 0.25 + 0.5}, {2, 0, 0.5}, {4, 0, 0.5 + 0.25}}));
  options.loss = KgeLoss::kOneVsAll;
  options.group_queries = true;  // three triples
  EXPECT_EQ(found(), (Rows{{1, 0, 0.5 + 0.5}, {2, 0, 0.5}, {4, 0, 1 + 0.5}}));
  options.regularizer = KgeRegularizer::kN3;
  EXPECT_THAT(found(), IsEmpty());
  options.regularizer = KgeRegularizer::kDura;
  batch.training = false;
  EXPECT_THAT(found(), IsEmpty());
}

}  // namespace
}  // namespace rutile
