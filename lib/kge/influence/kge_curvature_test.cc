// Compares products with the inverse of the curvature with dense matrices, J^T W J of scores' gradients by LibTorch.

#include "lib/kge/influence/kge_curvature.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/graph/known_tails.h"
#include "lib/graph/triple.h"
#include "lib/kge/influence/kge_influence_reference.h"
#include "lib/kge/influence/kge_products.h"
#include "lib/machine/parallel_for.h"
#include "lib/matrix/cholesky.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

constexpr int64_t kEntities = 6, kRelations = 2;
constexpr KgeInfluenceLoss kLosses[] = {KgeInfluenceLoss::kTriple, KgeInfluenceLoss::kOneToN, KgeInfluenceLoss::kOneOfN,
                                        KgeInfluenceLoss::kCrossEntropy, KgeInfluenceLoss::kKvsAll};

struct Problem {
  explicit Problem(KgeModel model, ConveVariant variant = ConveVariant::kTiepin) {
    shape.options.model = model;
    shape.options.variant = variant;
    shape.options.embedding_dim = model == KgeModel::kConvE ? 12 : 4;
    shape.options.embedding_height = 3;
    shape.options.embedding_width = 4;
    shape.options.output_channels = 2;
    shape.num_entities = kEntities;
    shape.num_relations = kRelations;
    parameters = Tensor::Zeros(DType::kF64, {size()});
    RandomStream random(3, "curvature test");
    for (const ParameterSlice& slice : shape.Slices()) {
      const bool positive = slice.name.find("running_var") != std::string::npos ||
                            (slice.name.rfind("bn", 0) == 0 && slice.name.find(".weight") != std::string::npos);
      for (int64_t i = 0; i < slice.num_elements(); ++i) {
        const double x = 2 * random.Uniform() - 1;
        parameters.mutable_values<double>()[slice.offset + i] = positive ? 1.5 + x : x;
      }
    }
    options.loss = KgeInfluenceLoss::kCrossEntropy;
    options.curvature.emplace();
    options.curvature->examples = train;
    options.curvature->least_weight = 0;
    known = KnownTails::Build({train}, kRelations, /*inverse_relations=*/false);
  }
  int64_t size() const { return shape.offsets().size; }
  std::unique_ptr<GradientProducts> Make(ThreadPool* pool = nullptr) const {
    auto products =
        MakeKgeProducts(shape, {parameters, {}, Tensor()}, {train, tests, &known}, options, pool, ReferenceKgeGradient);
    EXPECT_TRUE(products.ok()) << products.status();
    return *std::move(products);
  }

  KgeShape shape;
  Tensor parameters;
  // A key with three tails, one triple twice, an entity in both places, h = t.
  std::vector<Triple> train = {{0, 0, 1}, {0, 0, 2}, {0, 0, 3}, {4, 1, 0}, {4, 1, 0}, {2, 1, 2}, {3, 0, 5}, {1, 1, 4}};
  std::vector<Triple> tests = {{0, 0, 4}, {5, 1, 0}, {2, 1, 2}};
  KnownTails known;
  KgeInfluenceOptions options;
};

// Returns the gradients of all scores of a query, [N][P].
std::vector<std::vector<double>> ScoreRows(const Problem& problem, int32_t head, int32_t relation) {
  std::vector<std::vector<double>> rows(kEntities, std::vector<double>(problem.size()));
  for (int32_t e = 0; e < kEntities; ++e) {
    const KgeReferenceExample example = {{head, relation, e}, {}, KgeQuantity::kScore};
    ReferenceKgeGradient(problem.shape, problem.parameters, example, problem.options.loss, absl::MakeSpan(rows[e]));
  }
  return rows;
}

// Returns the scores of a query, which are linear in the entities' rows and biases.
std::vector<double> Scores(const Problem& problem, const std::vector<std::vector<double>>& rows, int32_t head) {
  const KgeShape::Offsets at = problem.shape.offsets();
  const int64_t d = problem.shape.dim();
  const absl::Span<const double> parameters = problem.parameters.values<double>();
  const int32_t other = head == 0 ? 1 : 0;  // its gradient by its row is v, since it is not the head
  std::vector<double> scores(kEntities);
  for (int64_t e = 0; e < kEntities; ++e) {
    for (int64_t k = 0; k < d; ++k)
      scores[e] += rows[other][at.entity + other * d + k] * parameters[at.entity + e * d + k];
    if (at.entity_bias >= 0) scores[e] += parameters[at.entity_bias + e];
  }
  return scores;
}

// Returns W_q [N, N] times the number of triples that count.
std::vector<double> Weights(const Problem& problem, const std::vector<double>& scores,
                            const std::vector<int32_t>& tails) {
  std::vector<double> p(kEntities), w(kEntities * kEntities);
  double sum = 0;
  for (const double score : scores) sum += std::exp(score);
  const KgeInfluenceLoss loss = problem.options.loss;
  const bool softmax = loss == KgeInfluenceLoss::kCrossEntropy || loss == KgeInfluenceLoss::kKvsAll;
  const double count = NeedsKnownTails(loss) ? 1 : static_cast<double>(tails.size());
  for (int64_t e = 0; e < kEntities; ++e) {
    p[e] = softmax ? std::exp(scores[e]) / sum : 1 / (1 + std::exp(-scores[e]));
    double times = count / (softmax ? 1 : kEntities);
    if (loss == KgeInfluenceLoss::kTriple) times = static_cast<double>(std::count(tails.begin(), tails.end(), e));
    w[e * kEntities + e] = times * p[e] * (softmax ? 1 : 1 - p[e]);
  }
  for (int64_t i = 0; softmax && i < kEntities; ++i) {
    for (int64_t j = 0; j < kEntities; ++j) w[i * kEntities + j] -= count * p[i] * p[j];
  }
  return w;
}

// The block of each parameter; those of fc.weight are -2, of buffers -1.
std::vector<int> BlockOfParameters(const Problem& problem) {
  const KgeShape::Offsets at = problem.shape.offsets();
  std::vector<int> block(problem.size(), -1);
  int next = 0;
  for (const ParameterSlice& slice : problem.shape.Slices()) {
    if (slice.buffer) continue;
    int64_t rows = 1;
    if (slice.offset == at.entity || slice.offset == at.entity_bias) rows = kEntities;
    if (slice.offset == at.relation) rows = kRelations;
    for (int64_t i = 0; i < slice.num_elements(); ++i) {
      block[slice.offset + i] =
          slice.offset == at.fc_weight ? -2 : next + static_cast<int>(i / (slice.num_elements() / rows));
    }
    next += static_cast<int>(rows);
  }
  return block;
}

// The dense matrix n (H + D), and n.
struct Dense {
  std::vector<double> matrix;
  double n = 0;
};

// Computes the matrix by definition; whole: with all pairs of parameters (fc.weight excepted), else in blocks.
Dense Define(const Problem& problem, bool whole) {
  const int64_t size = problem.size(), d = problem.shape.dim();
  const int64_t features = problem.shape.is_conve() ? problem.shape.num_features() : 0;
  const KgeShape::Offsets at = problem.shape.offsets();
  std::map<std::pair<int32_t, int32_t>, std::vector<int32_t>> tails;
  for (const Triple& triple : problem.train) tails[{triple.head, triple.relation}].push_back(triple.tail);
  Dense dense;
  dense.matrix.resize(size * size);
  dense.n = static_cast<double>(NeedsKnownTails(problem.options.loss) ? tails.size() : problem.train.size());
  const std::vector<int> block = BlockOfParameters(problem);
  std::vector<double> slopes(d * d), maps(features * features);
  double trace_of_slopes = 0, trace = 0;
  for (const auto& [key, own] : tails) {
    const std::vector<std::vector<double>> rows = ScoreRows(problem, key.first, key.second);
    const std::vector<double> w = Weights(problem, Scores(problem, rows, key.first), own);
    std::vector<std::vector<double>> weighted(kEntities, std::vector<double>(size));
    for (int64_t e = 0; e < kEntities; ++e) {
      for (int64_t c = 0; c < kEntities; ++c) {
        for (int64_t p = 0; p < size; ++p) weighted[e][p] += w[e * kEntities + c] * rows[c][p];
      }
    }
    for (int64_t i = 0; i < size; ++i) {
      for (int64_t j = 0; j < size; ++j) {
        if (block[i] < 0 || block[j] < 0 || (!whole && block[i] != block[j])) continue;
        for (int64_t e = 0; e < kEntities; ++e) dense.matrix[i * size + j] += rows[e][i] * weighted[e][j];
      }
    }
    if (features == 0) continue;
    // By fc.weight a score has the gradient g a^T, by fc.bias g, of which a follows.
    std::vector<double> a(features);
    double square = 0, of_key = 0;
    for (int64_t k = 0; k < d; ++k) square += rows[0][at.fc_bias + k] * rows[0][at.fc_bias + k];
    for (int64_t f = 0; square > 0 && f < features; ++f) {  // 0: no relu is open
      for (int64_t k = 0; k < d; ++k) {
        a[f] += rows[0][at.fc_weight + k * features + f] * rows[0][at.fc_bias + k] / square;
      }
    }
    for (int64_t i = 0; i < d; ++i) {
      for (int64_t j = 0; j < d; ++j) {
        double sum = 0;
        for (int64_t e = 0; e < kEntities; ++e) sum += rows[e][at.fc_bias + i] * weighted[e][at.fc_bias + j];
        slopes[i * d + j] += sum;
        if (i == j) of_key += sum;
      }
    }
    for (int64_t i = 0; i < features; ++i) {
      for (int64_t j = 0; j < features; ++j) maps[i * features + j] += of_key * a[i] * a[j];
    }
    trace_of_slopes += of_key;
  }
  int64_t num_parameters = 0;
  for (int64_t p = 0; p < size; ++p) {
    num_parameters += block[p] == -1 ? 0 : 1;
    trace += dense.matrix[p * size + p];
  }
  for (double& x : maps) x /= trace_of_slopes;
  double trace_of_maps = 0;
  for (int64_t f = 0; f < features; ++f) trace_of_maps += maps[f * (features + 1)];
  trace += trace_of_slopes * trace_of_maps;
  const auto damping = [&](int64_t p) {
    const KgeCurvatureOptions& options = *problem.options.curvature;
    return options.damping.empty() ? options.trace_damping * trace / static_cast<double>(num_parameters)
                                   : dense.n * options.damping[p];
  };
  for (int64_t p = 0; p < size; ++p) {
    if (block[p] != -2) dense.matrix[p * size + p] += block[p] == -1 ? 1 : damping(p);
  }
  if (features == 0) return dense;
  double mean = 0;
  for (int64_t p = 0; p < d * features; ++p) mean += damping(at.fc_weight + p) / static_cast<double>(d * features);
  const double share =
      std::sqrt(trace_of_maps / static_cast<double>(features) / (trace_of_slopes / static_cast<double>(d)));
  for (int64_t k = 0; k < d; ++k) slopes[k * (d + 1)] += std::sqrt(mean) / share;
  for (int64_t f = 0; f < features; ++f) maps[f * (features + 1)] += std::sqrt(mean) * share;
  for (int64_t i = 0; i < d * features; ++i) {
    for (int64_t j = 0; j < d * features; ++j) {
      dense.matrix[(at.fc_weight + i) * size + at.fc_weight + j] =
          slopes[i / features * d + j / features] * maps[i % features * features + j % features];
    }
  }
  return dense;
}

// Compares products, norms and squares with K = (n (H + D))^-1 of the dense matrix, in the parts.
void ExpectDense(const Problem& problem, const std::vector<ProductPart>& parts, const Dense& dense,
                 double tolerance = 1e-10) {
  const int64_t size = problem.size();
  std::vector<double> factor = dense.matrix;
  ASSERT_TRUE(FactorCholesky(size, factor.data()));
  const std::unique_ptr<GradientProducts> products = problem.Make();
  products->SetParts(parts);
  std::vector<int64_t> train(problem.train.size());
  for (size_t i = 0; i < train.size(); ++i) train[i] = static_cast<int64_t>(i);
  const auto num_tests = static_cast<int64_t>(problem.tests.size()), num_train = static_cast<int64_t>(train.size());
  ASSERT_TRUE(products->SetTests({0, 1, 2}).ok());
  ProductTile tile;
  ASSERT_TRUE(products->Products(train, /*squares=*/true, &tile).ok());
  const std::vector<double> norms = products->TestNorms();
  for (size_t part = 0; part < parts.size(); ++part) {
    std::vector<bool> counts(size);
    for (const int s : parts[part].slices) {
      const ParameterSlice slice = problem.shape.Slices()[s];
      std::fill_n(counts.begin() + slice.offset, slice.num_elements(), true);
    }
    std::vector<std::vector<double>> gradient(num_train + num_tests, std::vector<double>(size)), solved;
    for (int64_t i = 0; i < num_train + num_tests; ++i) {
      const absl::Span<double> to = absl::MakeSpan(gradient[i]);
      ASSERT_TRUE(
          (i < num_train ? products->ReferenceTrainGradient(i, to) : products->ReferenceTestGradient(i - num_train, to))
              .ok());
      for (int64_t p = 0; p < size; ++p) gradient[i][p] *= counts[p] ? 1 : 0;
      solved.push_back(gradient[i]);
      SolveLower(size, factor.data(), size, 1, solved.back().data());
      SolveLowerTransposed(size, factor.data(), size, 1, solved.back().data());
    }
    const auto expected = [&](int64_t i, int64_t j) {
      double sum = 0;
      for (int64_t p = 0; p < size; ++p) sum += gradient[i][p] * solved[j][p];
      return sum;
    };
    for (int64_t i = 0; i < num_train; ++i) {
      const double square = expected(i, i);
      EXPECT_NEAR(tile.train_square[part * num_train + i], square, tolerance * (1e-3 + square)) << parts[part].name;
      for (int64_t j = 0; j < num_tests; ++j) {
        const double of_test = expected(num_train + j, num_train + j);
        EXPECT_NEAR(norms[part * num_tests + j], of_test, tolerance * (1e-3 + of_test)) << parts[part].name;
        EXPECT_NEAR(tile.product[(part * num_train + i) * num_tests + j], expected(i, num_train + j),
                    tolerance * (1e-3 + std::sqrt(square * of_test)))
            << parts[part].name << " " << i << " with " << j;
      }
    }
  }
}

std::vector<ProductPart> EachTensor(const Problem& problem) {
  std::vector<ProductPart> parts;
  const std::vector<ParameterSlice> slices = problem.shape.Slices();
  for (size_t s = 0; s < slices.size(); ++s) {
    if (!slices[s].buffer) parts.push_back({slices[s].name, {static_cast<int>(s)}});
  }
  return parts;
}

std::vector<Problem> Problems() {
  std::vector<Problem> problems;
  for (const KgeModel model : {KgeModel::kDistMult, KgeModel::kComplEx, KgeModel::kRescal, KgeModel::kCp}) {
    problems.emplace_back(model);
  }
  problems.emplace_back(KgeModel::kConvE, ConveVariant::kTiepin);
  problems.emplace_back(KgeModel::kConvE, ConveVariant::kLibkge);
  return problems;
}

TEST(KgeCurvatureTest, BlocksAreThoseOfTheGaussNewtonMatrix) {
  for (Problem& problem : Problems()) {
    for (const KgeInfluenceLoss loss : kLosses) {
      SCOPED_TRACE(
          absl::StrCat(kKgeModelNames.Name(problem.shape.options.model), " ", kKgeInfluenceLossNames.Name(loss)));
      problem.options.loss = loss;
      ExpectDense(problem, EachTensor(problem), Define(problem, /*whole=*/false));
    }
  }
}

// Squares of losses over entities are made of several gradients at a time.
TEST(KgeCurvatureTest, OfMoreTriplesThanAreSolvedTogether) {
  for (const KgeModel model : {KgeModel::kComplEx, KgeModel::kConvE}) {
    Problem problem(model);
    problem.train.clear();
    for (int32_t k = 0; k < 39; ++k) problem.train.push_back({k / 12 % 6, k % 2, k / 2 % 6});
    problem.options.curvature->examples = problem.train;
    problem.known = KnownTails::Build({problem.train}, kRelations, /*inverse_relations=*/false);
    ExpectDense(problem, EachTensor(problem), Define(problem, /*whole=*/false));
  }
}

TEST(KgeCurvatureTest, OfRelationsIsTheWholeMatrix) {
  // Queries have one relation, so that rows of relations do not meet.
  for (Problem& problem : Problems()) {
    Dense dense = Define(problem, /*whole=*/true);
    const KgeShape::Offsets at = problem.shape.offsets();
    const int64_t size = problem.size(), end = at.relation + kRelations * problem.shape.relation_dim();
    for (int64_t i = 0; i < size; ++i) {  // of the other parameters only the damping
      for (int64_t j = 0; j < size; ++j) {
        const bool counts = i >= at.relation && i < end && j >= at.relation && j < end;
        if (!counts) dense.matrix[i * size + j] = i == j ? 1 : 0;
      }
    }
    std::vector<ProductPart> parts;
    for (const ProductPart& part : EachTensor(problem)) {
      if (part.name == "relation.weight") parts.push_back(part);
    }
    ExpectDense(problem, parts, dense);
  }
}

TEST(KgeCurvatureTest, WithTheDampingOfEachParameter) {
  for (const KgeModel model : {KgeModel::kComplEx, KgeModel::kConvE}) {
    Problem problem(model);
    RandomStream random(8, "damping");
    for (int64_t p = 0; p < problem.size(); ++p) problem.options.curvature->damping.push_back(0.1 + random.Uniform());
    ExpectDense(problem, EachTensor(problem), Define(problem, /*whole=*/false));
  }
}

// Returns the products of all triples with all tests.
std::vector<double> Products(const Problem& problem, ThreadPool* pool = nullptr) {
  const std::unique_ptr<GradientProducts> products = problem.Make(pool);
  EXPECT_TRUE(products->SetTests({0, 1, 2}).ok());
  ProductTile tile;
  EXPECT_TRUE(products->Products({0, 1, 2, 3, 4, 5, 6, 7}, /*squares=*/false, &tile).ok());
  return tile.product;
}

double Difference(const std::vector<double>& a, const std::vector<double>& b) {
  double difference = 0, square = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    square += b[i] * b[i];
  }
  return std::sqrt(difference / square);
}

TEST(KgeCurvatureTest, ProbesConvergeToAllScores) {
  for (const KgeModel model : {KgeModel::kComplEx, KgeModel::kConvE}) {
    Problem problem(model);
    const std::vector<double> all = Products(problem);
    problem.options.curvature->probes = 4;
    const double few = Difference(Products(problem), all);
    problem.options.curvature->probes = 12800;
    const double many = Difference(Products(problem), all);
    EXPECT_GT(few, 0);
    EXPECT_LT(many, 0.1 * few);
    EXPECT_LT(many, 0.03);  // the error falls as the root of their number: 0.052 with 1600
  }
}

TEST(KgeCurvatureTest, LightWeightsKeepTheirSum) {
  Problem problem(KgeModel::kComplEx);
  const std::vector<double> all = Products(problem);
  problem.options.curvature->least_weight = 0.01;
  EXPECT_LT(Difference(Products(problem), all), 0.02);
  problem.options.curvature->least_weight = 100;  // all rows by one matrix
  const double difference = Difference(Products(problem), all);
  EXPECT_GT(difference, 0);
  EXPECT_LT(difference, 0.5);
}

TEST(KgeCurvatureTest, DoesNotDependOnThreads) {
  for (const KgeModel model : {KgeModel::kDistMult, KgeModel::kConvE}) {
    const Problem problem(model);
    ThreadPool two(2);
    EXPECT_EQ(Products(problem, &two), Products(problem));
  }
}

TEST(KgeCurvatureTest, InSinglePrecision) {
  Problem problem(KgeModel::kComplEx);
  const std::vector<double> exact = Products(problem);
  const absl::Span<const double> values = problem.parameters.values<double>();
  problem.parameters = Tensor::Of(std::vector<float>(values.begin(), values.end()));
  EXPECT_LT(Difference(Products(problem), exact), 1e-5);
}

TEST(KgeCurvatureTest, OfWeightedTestsIsTheSum) {
  const Problem problem(KgeModel::kComplEx);
  const std::vector<double> single = Products(problem);
  const std::unique_ptr<GradientProducts> products = problem.Make();
  ASSERT_TRUE(products->SetWeightedTests({1, -2, 0.5}).ok());
  EXPECT_THAT(products->Notes(), ::testing::HasSubstr("8 examples (5 queries, all scores)"));
  ProductTile tile;
  ASSERT_TRUE(products->Products({0, 1, 2, 3, 4, 5, 6, 7}, /*squares=*/false, &tile).ok());
  for (int64_t i = 0; i < 8; ++i) {
    EXPECT_NEAR(tile.product[i], single[3 * i] - 2 * single[3 * i + 1] + 0.5 * single[3 * i + 2], 1e-12);
  }
}

TEST(KgeCurvatureTest, WhatDoesNotGoTogetherIsRefused) {
  Problem problem(KgeModel::kComplEx);
  const auto status_of = [&](const Tensor& preconditioner) {
    const KgeInfluenceData data = {problem.train, problem.tests, &problem.known};
    return MakeKgeProducts(problem.shape, {problem.parameters, {}, preconditioner}, data, problem.options, nullptr)
        .status();
  };
  EXPECT_TRUE(status_of(Tensor()).ok());
  EXPECT_THAT(status_of(Tensor::Zeros(DType::kF64, {problem.size()})),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"preconditioner", "curvature"}));
  problem.options.quantity = KgeQuantity::kDifference;
  problem.options.rival = 6;
  EXPECT_THAT(status_of(Tensor()), ErrorNames(absl::StatusCode::kInvalidArgument, {"entity 6", "knows 6"}));
  problem.options.rival = 5;
  EXPECT_TRUE(status_of(Tensor()).ok());
  problem.options.curvature.reset();
  problem.options.loss = KgeInfluenceLoss::kTriple;
  problem.options.projection.kind = ProjectionKind::kGaussian;
  problem.options.projection.dim = 3;
  EXPECT_THAT(status_of(Tensor()), ErrorNames(absl::StatusCode::kInvalidArgument, {"difference", "triple"}));
  problem.options.loss = KgeInfluenceLoss::kCrossEntropy;
  EXPECT_TRUE(status_of(Tensor()).ok());
}

TEST(KgeCurvatureTest, ErrorsSayWhatIsMissing) {
  const auto status_of = [](const Problem& problem) { return problem.Make()->SetTests({0}); };
  Problem problem(KgeModel::kComplEx);
  problem.options.curvature->memory_limit = 1000;
  EXPECT_THAT(status_of(problem), ErrorNames(absl::StatusCode::kResourceExhausted, {"4 x 4", "6 entities"}));
  problem.options.curvature->memory_limit = 0;
  problem.options.curvature->examples.clear();
  EXPECT_THAT(status_of(problem), ErrorNames(absl::StatusCode::kInvalidArgument, {"no training triples"}));
  problem.options.curvature->examples = problem.train;
  problem.parameters.mutable_values<double>()[0] = std::nan("");
  EXPECT_THAT(status_of(problem), ErrorNames(absl::StatusCode::kInvalidArgument, {"not positive"}));
}

}  // namespace
}  // namespace rutile
