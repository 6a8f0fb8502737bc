// Products of gradients of weighted and of known-false triples, compared with gradients by LibTorch.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/graph/known_tails.h"
#include "lib/graph/triple.h"
#include "lib/kge/influence/kge_influence_options.h"
#include "lib/kge/influence/kge_influence_reference.h"
#include "lib/kge/influence/kge_products.h"
#include "lib/kge/model/kge_init.h"
#include "lib/kge/model/kge_options.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/task/gradient_products.h"
#include "lib/tensorfile/tensor_of_doubles.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

constexpr int64_t kEntities = 11, kRelations = 3;

struct Problem {
  explicit Problem(KgeModel model) {
    shape.options.model = model;
    shape.options.variant = ConveVariant::kLibkge;
    shape.options.embedding_dim = 20;
    shape.options.embedding_height = 4;
    shape.options.embedding_width = 5;
    shape.options.output_channels = 3;
    shape.options.init = {EmbeddingInitKind::kUniform, 0.8};
    shape.num_entities = kEntities;
    shape.num_relations = kRelations;
    point.parameters = TensorOfDoubles(DType::kF64, InitialKgeParameters(shape, 3));
    RandomStream random(5, "triples");
    const auto id = [&](int64_t n) { return static_cast<int32_t>(random.Below(n)); };
    train = {{2, 1, 3}, {2, 1, 8}, {2, 1, 5}, {5, 0, 5}};
    while (train.size() < 20) train.push_back({id(kEntities), id(kRelations), id(kEntities)});
    known = KnownTails::Build({train}, kRelations, /*inverse_relations=*/false);
    for (int64_t i = 0; i < known.num_tails(); ++i) known_weights.push_back(i % 5 == 0 ? 0 : 0.25 * (1 + i % 5));
    // A triple's weight is that of its tail among the known ones.
    for (const Triple& t : train) {
      const int64_t key = known.Find(t.head, t.relation);
      const absl::Span<const int32_t> tails = known.tails(key);
      const auto place = std::lower_bound(tails.begin(), tails.end(), t.tail) - tails.begin();
      weights.push_back(known_weights[known.offsets()[key] + place]);
    }
    is_false.assign(train.size(), 0);
    // Of a known key, of one with the same tail as another key, and of an unknown one.
    for (const Triple& t : {Triple{2, 1, 9}, Triple{5, 0, 3}, Triple{10, 2, 10}}) {
      train.push_back(t);
      weights.push_back(1.5);
      is_false.push_back(1);
    }
  }

  // True if no tail of the example's key has a weight.
  bool HasNoWeight(int64_t i) const {
    const int64_t key = known.Find(train[i].head, train[i].relation);
    if (is_false[i] != 0 || key < 0) return false;
    const auto first = known_weights.begin() + known.offsets()[key];
    return std::all_of(first, known_weights.begin() + known.offsets()[key + 1], [](double w) { return w == 0; });
  }

  KgeInfluenceData data() const { return {train, tests, &known, weights, is_false, known_weights}; }

  KgeShape shape;
  WeightedCheckpoint point;
  std::vector<Triple> train, tests = {{2, 1, 3}, {10, 2, 10}, {5, 0, 4}};
  KnownTails known;
  std::vector<double> weights, known_weights;
  std::vector<uint8_t> is_false;
};

TEST(KgeProductsWeightsTest, AreThoseOfTheDefinition) {
  int weightless = 0;
  for (const KgeModel model : {KgeModel::kConvE, KgeModel::kComplEx, KgeModel::kRescal}) {
    for (const KgeInfluenceLoss loss : {KgeInfluenceLoss::kTriple, KgeInfluenceLoss::kOneToN, KgeInfluenceLoss::kOneOfN,
                                        KgeInfluenceLoss::kCrossEntropy, KgeInfluenceLoss::kKvsAll}) {
      const Problem problem(model);
      KgeInfluenceOptions options;
      options.loss = loss;
      const auto products =
          MakeKgeProducts(problem.shape, problem.point, problem.data(), options, nullptr, ReferenceKgeGradient);
      ASSERT_TRUE(products.ok()) << products.status();
      ASSERT_TRUE((*products)->SetTests({0, 1, 2}).ok());
      std::vector<int64_t> all(problem.train.size());
      for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>((7 * i) % all.size());
      ProductTile tile;
      ASSERT_TRUE((*products)->Products(all, /*squares=*/true, &tile).ok());
      std::vector<double> of_train(problem.shape.offsets().size), of_test(of_train);
      for (size_t i = 0; i < all.size(); ++i) {
        ASSERT_TRUE((*products)->ReferenceTrainGradient(all[i], absl::MakeSpan(of_train)).ok());
        double square = 0;
        for (const double g : of_train) square += g * g;
        EXPECT_NEAR(tile.train_square[i], square, 1e-12 * (1 + square));
        if (problem.weights[all[i]] == 0 && !NeedsKnownTails(loss)) {
          EXPECT_EQ(square, 0);
        }
        // Training leaves such a key out.
        if (problem.HasNoWeight(all[i]) && loss == KgeInfluenceLoss::kOneToN) {
          EXPECT_EQ(square, 0);
          ++weightless;
        }
        for (int64_t j = 0; j < 3; ++j) {
          ASSERT_TRUE((*products)->ReferenceTestGradient(j, absl::MakeSpan(of_test)).ok());
          double product = 0;
          for (size_t k = 0; k < of_test.size(); ++k) product += of_train[k] * of_test[k];
          EXPECT_NEAR(tile.product[3 * i + j], product, 1e-12 * (1 + std::abs(product)))
              << kKgeModelNames.Name(model) << " " << kKgeInfluenceLossNames.Name(loss) << " " << all[i] << " " << j;
        }
      }
    }
  }
  EXPECT_GT(weightless, 0);
}

TEST(KgeProductsWeightsTest, TooFewWeightsAreRefused) {
  Problem problem(KgeModel::kComplEx);
  problem.weights.pop_back();
  const auto products = MakeKgeProducts(problem.shape, problem.point, problem.data(), {}, nullptr);
  EXPECT_THAT(products.status(), ErrorNames(absl::StatusCode::kInvalidArgument, {"22 weights", "23 training triples"}));
}

}  // namespace
}  // namespace rutile
