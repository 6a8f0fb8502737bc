// Gradients and curvatures of regularizers, compared with LibTorch, finite differences and closed forms.

#include "lib/kge/influence/penalty_factors.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/graph/triple.h"
#include "lib/kge/influence/kge_curvature.h"
#include "lib/kge/influence/kge_influence_options.h"
#include "lib/kge/influence/kge_influence_reference.h"
#include "lib/kge/influence/kge_products.h"
#include "lib/kge/model/kge_init.h"
#include "lib/kge/model/kge_options.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/kge/training/scores/embedding_penalty.h"
#include "lib/task/gradient_products.h"
#include "lib/tensorfile/tensor_of_doubles.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

constexpr KgeRegularizer kRegularizers[] = {KgeRegularizer::kN3, KgeRegularizer::kL3, KgeRegularizer::kF2};

KgeShape ShapeOf(KgeModel model, KgeRegularizer regularizer, int dim = 20) {
  KgeShape shape;
  shape.options.model = model;
  shape.options.variant = ConveVariant::kLibkge;
  shape.options.embedding_dim = dim;
  shape.options.embedding_height = 4;
  shape.options.embedding_width = dim / 4;
  shape.options.output_channels = 3;
  shape.options.init = {EmbeddingInitKind::kUniform, 0.8};
  shape.options.regularizer = regularizer;
  shape.options.regularization = 0.3;
  shape.num_entities = 7;
  shape.num_relations = 3;
  return shape;
}

// Triples that share rows, one of which has one entity as head and tail.
const std::vector<Triple> kTrain = {{2, 1, 3}, {5, 0, 5}, {3, 1, 2}, {2, 1, 4}, {6, 2, 0}};

TEST(PenaltyFactorsTest, GradientsAndTheirSquaresAreThoseOfTheDefinition) {
  for (const KgeModel model : {KgeModel::kComplEx, KgeModel::kDistMult, KgeModel::kCp, KgeModel::kRescal,
                               KgeModel::kTucker, KgeModel::kConvE}) {
    for (const KgeRegularizer regularizer : kRegularizers) {
      for (const auto& [loss, quantity] : {std::pair(KgeInfluenceLoss::kCrossEntropy, KgeQuantity::kLoss),
                                           std::pair(KgeInfluenceLoss::kCrossEntropy, KgeQuantity::kScore),
                                           std::pair(KgeInfluenceLoss::kOneOfN, KgeQuantity::kLoss)}) {
        for (const bool has_metric : {false, true}) {
          const KgeShape shape = ShapeOf(model, regularizer);
          const int64_t size = shape.offsets().size;
          WeightedCheckpoint point;
          point.parameters = TensorOfDoubles(DType::kF64, InitialKgeParameters(shape, 3));
          point.loss_weight = {0.7};
          std::vector<double> metric(size, 1.0);
          for (int64_t p = 0; has_metric && p < size; ++p) metric[p] = 0.5 + 0.1 * static_cast<double>(p % 7);
          if (has_metric) point.preconditioner = TensorOfDoubles(DType::kF64, metric);
          const std::vector<Triple> tests = {{2, 1, 3}, {5, 0, 4}, {3, 2, 6}};
          const std::vector<double> weights = {1, 2, 0.5, 0, 1};
          const std::vector<uint8_t> is_false = {0, 0, 0, 0, 1};
          KgeInfluenceOptions options;
          options.loss = loss;
          options.penalized = true;
          options.quantity = quantity;
          const auto products = MakeKgeProducts(shape, point, {kTrain, tests, nullptr, weights, is_false}, options,
                                                nullptr, ReferenceKgeGradient);
          ASSERT_TRUE(products.ok()) << products.status();
          ASSERT_TRUE((*products)->SetTests({0, 1, 2}).ok());
          ProductTile tile;
          ASSERT_TRUE((*products)->Products({4, 0, 1, 2, 3}, /*squares=*/true, &tile).ok());
          std::vector<double> of_train(size), of_test(size);
          int place = 0;
          for (const int64_t i : {4, 0, 1, 2, 3}) {
            ASSERT_TRUE((*products)->ReferenceTrainGradient(i, absl::MakeSpan(of_train)).ok());
            double square = 0;
            for (int64_t p = 0; p < size; ++p) square += metric[p] * of_train[p] * of_train[p];
            EXPECT_NEAR(tile.train_square[place], square, 1e-12 * (1 + square));
            for (int64_t j = 0; j < 3; ++j) {
              ASSERT_TRUE((*products)->ReferenceTestGradient(j, absl::MakeSpan(of_test)).ok());
              double product = 0;
              for (int64_t p = 0; p < size; ++p) product += metric[p] * of_train[p] * of_test[p];
              EXPECT_NEAR(tile.product[3 * place + j], product, 1e-12 * (1 + std::abs(product)))
                  << kKgeModelNames.Name(model) << " " << kKgeRegularizerNames.Name(regularizer) << " " << i;
            }
            ++place;
          }
        }
      }
    }
  }
}

// A test at the minimum of a triple's loss without the penalty moves by the penalty alone: with the weight of the
// regularizer, products change linearly by lambda <phi', gradient of the test>.
TEST(PenaltyFactorsTest, ClosedFormOfOneNumber) {
  KgeShape shape = ShapeOf(KgeModel::kDistMult, KgeRegularizer::kN3, 4);
  std::vector<double> parameters(shape.offsets().size, 0.0);
  const auto row = [&](int64_t e) { return shape.offsets().entity + e * 4; };
  parameters[row(2)] = 0.5;
  parameters[row(3)] = -2;
  parameters[shape.offsets().relation + 4] = 3;  // of relation 1
  WeightedCheckpoint point;
  point.parameters = TensorOfDoubles(DType::kF64, parameters);
  std::vector<double> product;
  const std::vector<Triple> train = {{2, 1, 3}}, tests = {{2, 1, 3}};
  for (const bool penalized : {false, true}) {
    KgeInfluenceOptions options;
    options.loss = KgeInfluenceLoss::kCrossEntropy;
    options.quantity = KgeQuantity::kScore;
    options.penalized = penalized;
    const auto products = MakeKgeProducts(shape, point, {train, tests, nullptr}, options, nullptr);
    ASSERT_TRUE(products.ok()) << products.status();
    ASSERT_TRUE((*products)->SetTests({0}).ok());
    ProductTile tile;
    ASSERT_TRUE((*products)->Products({0}, /*squares=*/false, &tile).ok());
    product.push_back(tile.product[0]);
  }
  // The score is h r t; each row adds 3 lambda |x| x times the product of the other two, so |h|, |r| and |t| times it.
  const double score = 0.5 * 3 * -2;
  EXPECT_NEAR(product[1] - product[0], 0.3 * 3 * (0.5 + 3 + 2) * score, 1e-12);
}

TEST(PenaltyFactorsTest, CurvatureIsTheSlopeOfTheGradient) {
  for (const KgeModel model : {KgeModel::kComplEx, KgeModel::kDistMult}) {
    for (const KgeRegularizer regularizer : kRegularizers) {
      const KgeShape shape = ShapeOf(model, regularizer);
      const std::vector<double> x = {0.3, -0.8, 0.5, 1.1, -0.2, 0.7};
      const auto n = static_cast<int64_t>(x.size()), stride = n + 1;
      std::vector<double> matrix(n * stride, 0.0);
      AddPenaltyCurvature(shape.options, 1.5, x, stride, matrix.data());
      const RowPenalty penalty(shape.options, n);
      constexpr double kStep = 1e-5;
      for (int64_t k = 0; k < n; ++k) {
        std::vector<double> slope(n, 0.0);
        for (const double sign : {1.0, -1.0}) {
          std::vector<double> moved = x;
          moved[k] += sign * kStep;
          penalty.AddGradient(1.5 * sign / (2 * kStep), absl::MakeConstSpan(moved), absl::MakeSpan(slope));
        }
        // Central differences err by the square of the step.
        for (int64_t i = k; i < n; ++i) EXPECT_NEAR(matrix[i * stride + k], slope[i], 1e-8) << i << " " << k;
      }
      std::vector<double> of_zero(n * n, 0.0);
      AddPenaltyCurvature(shape.options, 1, std::vector<double>(n, 0.0), n, of_zero.data());
      EXPECT_EQ(of_zero[0], regularizer == KgeRegularizer::kF2 ? 2 : 0);
    }
  }
}

// M = (A + P)^-1 for the blocks A without penalties, and N = A^-1: N = M + M P N.
TEST(PenaltyFactorsTest, BlocksOfTheCurvatureHaveThePenaltiesOfTheirExamples) {
  for (const KgeModel model : {KgeModel::kComplEx, KgeModel::kCp}) {
    const KgeShape shape = ShapeOf(model, KgeRegularizer::kN3, 8);
    const std::vector<double> parameters = InitialKgeParameters(shape, 3);
    const int64_t d = shape.dim(), size = shape.offsets().size;
    const auto inverse = [&](bool penalized, int64_t offset, int64_t dim) {
      KgeInfluenceOptions options;
      options.loss = KgeInfluenceLoss::kCrossEntropy;
      options.penalized = penalized;
      options.curvature.emplace();
      options.curvature->examples = kTrain;
      options.curvature->damping.assign(size, 0.01);
      options.curvature->least_weight = 0;
      const auto curvature = KgeCurvature::Make(shape, parameters.data(), options, nullptr);
      EXPECT_TRUE(curvature.ok()) << curvature.status();
      std::vector<double> matrix(dim * dim);
      for (int64_t k = 0; k < dim; ++k) {
        std::vector<double> x(size, 0.0);
        x[offset + k] = 1;
        (*curvature)->Solve(x.data(), /*columns=*/1, nullptr);
        for (int64_t i = 0; i < dim; ++i) matrix[i * dim + k] = x[offset + i];
      }
      return matrix;
    };
    const auto check = [&](int64_t offset, int64_t dim, const std::vector<double>& added) {
      const std::vector<double> with = inverse(true, offset, dim), without = inverse(false, offset, dim);
      for (int64_t i = 0; i < dim; ++i) {
        for (int64_t j = 0; j < dim; ++j) {
          double sum = with[i * dim + j];
          for (int64_t k = 0; k < dim; ++k) {
            for (int64_t l = 0; l < dim; ++l) {
              sum += with[i * dim + k] * added[std::max(k, l) * dim + std::min(k, l)] * without[l * dim + j];
            }
          }
          EXPECT_NEAR(without[i * dim + j], sum, 1e-9 * (1 + std::abs(sum)));
        }
      }
    };
    // Entity 2 is the head of two triples and the tail of one; relation 1 is that of three.
    const int64_t at_entity = shape.offsets().entity + 2 * d,
                  at_relation = shape.offsets().relation + shape.relation_dim();
    const int64_t part = d / PenalizedRowsOfEntity(shape.options), tail = d - part;
    std::vector<double> added(d * d, 0.0);
    const absl::Span<const double> all = parameters;
    AddPenaltyCurvature(shape.options, 2 * 0.3, all.subspan(at_entity, part), d, added.data());
    AddPenaltyCurvature(shape.options, 0.3, all.subspan(at_entity + tail, part), d, added.data() + tail * (d + 1));
    check(at_entity, d, added);
    const int64_t dim = shape.relation_dim();
    added.assign(dim * dim, 0.0);
    AddPenaltyCurvature(shape.options, 3 * 0.3, all.subspan(at_relation, dim), dim, added.data());
    check(at_relation, dim, added);
  }
}

TEST(PenaltyFactorsTest, WhatCannotHaveItIsRefused) {
  KgeInfluenceOptions options;
  options.penalized = true;
  options.loss = KgeInfluenceLoss::kKvsAll;
  EXPECT_THAT(CheckKgeInfluenceOptions(options, DType::kF64),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"penalized", "KvsAll", "1vsAll"}));
  options.loss = KgeInfluenceLoss::kTriple;
  EXPECT_THAT(CheckKgeInfluenceOptions(options, DType::kF64), ErrorNames({"penalized", "triple", "1vsAll"}));
  options.loss = KgeInfluenceLoss::kCrossEntropy;
  const KgeShape shape = ShapeOf(KgeModel::kComplEx, KgeRegularizer::kDura);
  WeightedCheckpoint point;
  point.parameters = TensorOfDoubles(DType::kF64, InitialKgeParameters(shape, 3));
  EXPECT_THAT(MakeKgeProducts(shape, point, {kTrain, kTrain, nullptr}, options, nullptr).status(),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"penalized", "regularizer"}));
}

}  // namespace
}  // namespace rutile
