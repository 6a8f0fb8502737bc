// Products of projected factors are right on average over seeds, and exact if nothing is projected.

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/graph/known_tails.h"
#include "lib/graph/triple.h"
#include "lib/kge/influence/kge_influence_options.h"
#include "lib/kge/influence/kge_products.h"
#include "lib/kge/model/kge_init.h"
#include "lib/kge/model/kge_options.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/machine/parallel_for.h"
#include "lib/task/gradient_products.h"
#include "lib/task/parameter_slice.h"
#include "lib/task/projection_options.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kEntities = 40, kRelations = 3;
constexpr ProjectionKind kKinds[] = {ProjectionKind::kGaussian, ProjectionKind::kRademacher, ProjectionKind::kSparse};

struct Problem {
  explicit Problem(KgeModel model = KgeModel::kConvE) {
    shape.options.model = model;
    shape.options.embedding_dim = 20;
    shape.options.embedding_height = 4;
    shape.options.embedding_width = 5;
    shape.options.output_channels = 4;
    shape.num_entities = kEntities;
    shape.num_relations = kRelations;
    const std::vector<double> initial = InitialKgeParameters(shape, /*seed=*/1);
    point.parameters = Tensor::Of(initial);
    RandomStream random(5, "triples");
    const auto id = [&](int64_t n) { return static_cast<int32_t>(random.Below(n)); };
    while (train.size() < 30) train.push_back({id(kEntities), id(kRelations), id(kEntities)});
    while (tests.size() < 5) tests.push_back({id(kEntities), id(kRelations), id(kEntities)});
    known = KnownTails::Build({train}, kRelations, /*inverse_relations=*/false);
  }

  absl::StatusOr<std::unique_ptr<GradientProducts>> Make(ThreadPool* pool = nullptr) const {
    return MakeKgeProducts(shape, point, {train, tests, &known}, options, pool);
  }
  std::string Error() const { return std::string(Make().status().message()); }

  // Returns the products [train, tests].
  ProductTile Tile(const std::vector<ProductPart>& parts = {}, ThreadPool* pool = nullptr) const {
    const std::unique_ptr<GradientProducts> products = std::move(*Make(pool));
    if (!parts.empty()) products->SetParts(parts);
    std::vector<int64_t> all_train(train.size()), all_tests(tests.size());
    for (size_t i = 0; i < train.size(); ++i) all_train[i] = static_cast<int64_t>(i);
    for (size_t j = 0; j < tests.size(); ++j) all_tests[j] = static_cast<int64_t>(j);
    EXPECT_TRUE(products->SetTests(all_tests).ok());
    ProductTile tile;
    EXPECT_TRUE(products->Products(all_train, /*squares=*/true, &tile).ok());
    return tile;
  }

  KgeShape shape;
  WeightedCheckpoint point;
  std::vector<Triple> train, tests;
  KnownTails known;
  KgeInfluenceOptions options;
};

TEST(KgeProjectionTest, RightOnAverage) {
  constexpr int kSeeds = 300;
  for (const KgeInfluenceLoss loss : {KgeInfluenceLoss::kTriple, KgeInfluenceLoss::kOneToN}) {
    Problem problem;
    problem.options.loss = loss;
    const ProductTile exact = problem.Tile();
    for (const ProjectionKind kind : kKinds) {
      std::vector<double> sum(exact.product.size()), squares(exact.product.size());
      for (uint64_t seed = 0; seed < kSeeds; ++seed) {
        problem.options.projection = {kind, 16, seed};
        const ProductTile tile = problem.Tile();
        EXPECT_EQ(tile.train_square, exact.train_square);
        for (size_t i = 0; i < sum.size(); ++i) {
          const double error = tile.product[i] - exact.product[i];
          sum[i] += error;
          squares[i] += error * error;
        }
      }
      double worst = 0, any = 0;  // means, in deviations of a mean
      for (size_t i = 0; i < sum.size(); ++i) {
        worst = std::max(worst, std::abs(sum[i]) / std::sqrt(squares[i] + 1e-300));
        any = std::max(any, squares[i]);
      }
      EXPECT_GT(any, 0);
      EXPECT_LT(worst, 5) << ProjectionKindName(kind) << " " << kKgeInfluenceLossNames.Name(loss);
      problem.options.projection = {};
    }
  }
}

TEST(KgeProjectionTest, WhatIsNotProjectedIsExact) {
  Problem problem;
  std::vector<ProductPart> parts;
  const std::vector<ParameterSlice> slices = problem.shape.Slices();
  for (size_t s = 0; s < slices.size(); ++s) {
    if (!slices[s].buffer && slices[s].name != "fc.weight") parts.push_back({slices[s].name, {static_cast<int>(s)}});
  }
  const ProductTile exact = problem.Tile(parts);
  problem.options.projection = {ProjectionKind::kSparse, 8, 0};
  EXPECT_EQ(problem.Tile(parts).product, exact.product);
}

TEST(KgeProjectionTest, ThreadsDoNotMatterAndSeedsDo) {
  ThreadPool pool(3);
  Problem problem;
  for (const ProjectionKind kind : kKinds) {
    problem.options.projection = {kind, 8, 0};
    const ProductTile tile = problem.Tile();
    EXPECT_EQ(problem.Tile({}, &pool).product, tile.product);
    problem.options.projection.seed = 1;
    EXPECT_NE(problem.Tile().product, tile.product);
  }
}

TEST(KgeProjectionTest, ASetTestTakesLess) {
  Problem problem;
  const int64_t exact = (*problem.Make())->bytes_per_test();
  problem.options.projection = {ProjectionKind::kSparse, 8, 0};
  EXPECT_EQ(exact - (*problem.Make())->bytes_per_test(), 8 * (problem.shape.num_features() - 8));
}

TEST(KgeProjectionTest, WhatHasNoEffectIsRefused) {
  Problem problem;
  problem.options.projection = {ProjectionKind::kSparse, problem.shape.num_features(), 0};
  EXPECT_THAT(problem.Error(), HasSubstr("the longest factor of a gradient has"));
  problem.options.projection.dim = 0;
  EXPECT_THAT(problem.Error(), HasSubstr("expected a number from 1"));
  problem.options.projection.dim = 8;
  EXPECT_TRUE(problem.Make().ok());
  problem.point.preconditioner = Tensor::Zeros(DType::kF64, {problem.shape.offsets().size});
  EXPECT_THAT(problem.Error(), HasSubstr("with a preconditioner"));
  Problem rows(KgeModel::kDistMult);
  rows.options.projection = {ProjectionKind::kSparse, 8, 0};
  EXPECT_THAT(rows.Error(), HasSubstr("gradients of distmult with the loss triple are a few embedding rows"));
  rows.options.loss = KgeInfluenceLoss::kOneToN;  // whose errors are as long as there are entities
  EXPECT_EQ(rows.Error(), "");
  rows.options.quantity = KgeQuantity::kScore;
  EXPECT_THAT(rows.Error(), HasSubstr("no effect"));
}

}  // namespace
}  // namespace rutile
