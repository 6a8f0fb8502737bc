#include "lib/kge/training/scores/embedding_penalty.h"

#include <cmath>
#include <vector>

#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"

namespace rutile {
namespace {

using ::testing::Each;
using ::testing::IsEmpty;

constexpr KgeRegularizer kAll[] = {KgeRegularizer::kN3, KgeRegularizer::kF2, KgeRegularizer::kL3};
constexpr KgeModel kModels[] = {KgeModel::kConvE, KgeModel::kDistMult, KgeModel::kComplEx};

KgeOptions Options(KgeModel model, KgeRegularizer regularizer, int64_t dim) {
  KgeOptions options;
  options.model = model;
  options.regularizer = regularizer;
  options.regularization = 0.5;
  options.embedding_dim = dim;
  options.loss = KgeLoss::kKvsAll;
  options.label_smoothing = 0;
  return options;
}

std::vector<double> RandomRow(int64_t dim) {
  RandomStream stream(7, "row");
  std::vector<double> row(dim);
  for (double& x : row) x = stream.Normal();
  return row;
}

// Rows are [re, re | im, im] for ComplEx: the numbers 3 + 4i and -1 - 0i.
TEST(RowPenaltyTest, ClosedForms) {
  const std::vector<double> x = {3, -1, 4, 0};
  const auto of = [&](KgeModel model, KgeRegularizer regularizer) {
    return RowPenalty(Options(model, regularizer, 4), 4).Of(absl::MakeConstSpan(x));
  };
  for (const KgeModel model : kModels) {
    EXPECT_EQ(of(model, KgeRegularizer::kNone), 0);
    EXPECT_EQ(of(model, KgeRegularizer::kF2), 9 + 1 + 16);
    EXPECT_EQ(of(model, KgeRegularizer::kL3), 27 + 1 + 64);
    EXPECT_EQ(of(model, KgeRegularizer::kN3), model == KgeModel::kComplEx ? 125 + 1 : 27 + 1 + 64);
  }
}

TEST(RowPenaltyTest, GradientIsTheDifference) {
  for (const KgeModel model : kModels) {
    for (const KgeRegularizer regularizer : kAll) {
      for (const int64_t dim : {2, 6, 34}) {
        const RowPenalty penalty(Options(model, regularizer, dim), dim);
        std::vector<double> x = RandomRow(dim), gradient(dim, 1.0);
        penalty.AddGradient(0.7, absl::MakeConstSpan(x), absl::MakeSpan(gradient));
        for (int64_t k = 0; k < dim; ++k) {
          const double at = x[k], h = 1e-5;
          x[k] = at + h;
          const double above = penalty.Of(absl::MakeConstSpan(x));
          x[k] = at - h;
          const double below = penalty.Of(absl::MakeConstSpan(x));
          x[k] = at;
          // The error of a central difference is h^2 / 6 times the third derivative, and rounding of sums near 100 / h.
          EXPECT_NEAR(gradient[k], 1 + 0.7 * (above - below) / (2 * h), 1e-8) << k;
        }
      }
    }
  }
}

TEST(RowPenaltyTest, ZerosHaveNoGradientAndFloatsAreRounded) {
  for (const KgeModel model : kModels) {
    for (const KgeRegularizer regularizer : kAll) {
      const RowPenalty penalty(Options(model, regularizer, 6), 6);
      const std::vector<double> zero(6, 0.0);
      std::vector<double> gradient(6, 0.0);
      penalty.AddGradient(1, absl::MakeConstSpan(zero), absl::MakeSpan(gradient));
      EXPECT_THAT(gradient, Each(0.0));
      const std::vector<double> x = RandomRow(6);
      const std::vector<float> rounded(x.begin(), x.end());
      std::vector<float> slopes(6, 0.0f);
      penalty.AddGradient(2, absl::MakeConstSpan(x), absl::MakeSpan(gradient));
      penalty.AddGradient(2, absl::MakeConstSpan(rounded), absl::MakeSpan(slopes));
      for (int k = 0; k < 6; ++k) EXPECT_NEAR(slopes[k], gradient[k], 1e-5 * std::abs(gradient[k]));
    }
  }
}

// Queries (4, 0) with the tails 1, 4 and (1, 0) with the tail 2.
struct Batch {
  std::vector<int32_t> head = {4, 1}, relation = {0, 0}, positive = {1, 4, 2};
  std::vector<int64_t> offset = {0, 2, 3};

  KgeBatch view() const {
    KgeBatch batch;
    batch.head = head;
    batch.relation = relation;
    batch.positive_offset = offset;
    batch.positive = positive;
    return batch;
  }
};

std::vector<std::vector<double>> Pairs(const std::vector<WeightedRow>& rows) {
  std::vector<std::vector<double>> pairs;
  for (const WeightedRow& row : rows) pairs.push_back({static_cast<double>(row.row), row.weight});
  return pairs;
}

TEST(FindPenalizedRowsTest, WeighsRowsByHowOftenTheyOccur) {
  const Batch batch;
  KgeOptions options = Options(KgeModel::kDistMult, KgeRegularizer::kF2, 4);
  using Rows = std::vector<std::vector<double>>;
  PenalizedRows rows = FindPenalizedRows(options, batch.view());
  EXPECT_EQ(Pairs(rows.entities), (Rows{{1, 0.25 + 0.5}, {2, 0.5}, {4, 0.5 + 0.25}}));
  EXPECT_EQ(Pairs(rows.relations), (Rows{{0, 1}}));
  options.loss = KgeLoss::kOneVsAll;
  options.group_queries = true;  // three triples, each with its own head, relation and tail
  rows = FindPenalizedRows(options, batch.view());
  EXPECT_EQ(Pairs(rows.entities), (Rows{{1, 0.5 + 0.5}, {2, 0.5}, {4, 1 + 0.5}}));
  EXPECT_EQ(Pairs(rows.relations), (Rows{{0, 1.5}}));
  // The first halves of heads are even rows, and the second halves of tails odd ones.
  options = Options(KgeModel::kCp, KgeRegularizer::kF2, 4);
  rows = FindPenalizedRows(options, batch.view());
  EXPECT_EQ(Pairs(rows.entities), (Rows{{2, 0.5}, {3, 0.25}, {5, 0.5}, {8, 0.5}, {9, 0.25}}));
  EXPECT_EQ(Pairs(rows.relations), (Rows{{0, 1}}));
}

TEST(FindPenalizedRowsTest, EvaluationsAreWithout) {
  const Batch batch;
  KgeBatch view = batch.view();
  const KgeOptions none = Options(KgeModel::kDistMult, KgeRegularizer::kNone, 4);
  EXPECT_THAT(FindPenalizedRows(none, view).entities, IsEmpty());
  view.training = false;
  const PenalizedRows rows = FindPenalizedRows(Options(KgeModel::kDistMult, KgeRegularizer::kF2, 4), view);
  EXPECT_THAT(rows.entities, IsEmpty());
  EXPECT_THAT(rows.relations, IsEmpty());
}

// A block of rows, or those of one process, adds its own part.
TEST(RowPenaltyTest, PartsOfATableAddUp) {
  const RowPenalty penalty(Options(KgeModel::kComplEx, KgeRegularizer::kN3, 4), 4);
  const std::vector<double> table = RandomRow(5 * 4);
  const std::vector<WeightedRow> rows = {{0, 1}, {2, 0.5}, {3, 2}};
  std::vector<double> whole(20, 0.0), parts(20, 0.0);
  penalty.AddGradients<double>(rows, {0, 5}, table.data(), 0, whole.data());
  penalty.AddGradients<double>(rows, {0, 2}, table.data(), 0, parts.data());
  penalty.AddGradients<double>(rows, {2, 3}, table.data(), 2, parts.data() + 8);
  penalty.AddGradients<double>(rows, {3, 5}, table.data(), 3, parts.data() + 12);
  EXPECT_EQ(parts, whole);
  EXPECT_THAT(absl::MakeConstSpan(whole).subspan(4, 4), Each(0.0)) << "row 1 is not in the list";
  double sum = 0;
  for (const WeightedRow& row : rows) {
    sum += row.weight * penalty.Of(absl::MakeConstSpan(table).subspan(row.row * 4, 4));
  }
  EXPECT_DOUBLE_EQ(penalty.SumOf<double>(rows, {0, 5}, table.data()), sum);
  EXPECT_DOUBLE_EQ(
      penalty.SumOf<double>(rows, {0, 3}, table.data()) + penalty.SumOf<double>(rows, {3, 5}, table.data()), sum);
}

}  // namespace
}  // namespace rutile
