#include "lib/influence/tracin_reference.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/influence/dense_products_testing.h"

namespace rutile {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pointwise;

constexpr int64_t kP = DenseProducts::kNumParameters;

// The training gradients are (3, 4), (0, 5) and (-6, 0), the tests' (1, 0) and (1, 1), in the first two parameters; a
// third parameter, of another slice, is 1 for all.
class TracInReferenceTest : public ::testing::Test {
 protected:
  TracInReferenceTest() {
    products_.train.assign(3 * kP, 0);
    products_.tests.assign(2 * kP, 0);
    const double train[3][2] = {{3, 4}, {0, 5}, {-6, 0}}, tests[2][2] = {{1, 0}, {1, 1}};
    for (int i = 0; i < 3; ++i) {
      std::copy_n(train[i], 2, &products_.train[i * kP]);
      products_.train[i * kP + 8] = 1;
    }
    for (int j = 0; j < 2; ++j) {
      std::copy_n(tests[j], 2, &products_.tests[j * kP]);
      products_.tests[j * kP + 8] = 1;
    }
    options_.top_k = 0;
    options_.parts = {{"a", {0}}};
  }
  Influence Compute(absl::Span<const Tensor> preconditioners = {}) {
    return *ComputeInfluenceReference({checkpoints_, {0.5}, train_, tests_, {}}, options_, preconditioners);
  }

  DenseProducts products_{3, 2, 0};
  const std::vector<GradientProducts*> checkpoints_ = {&products_};
  const std::vector<int64_t> train_ = {0, 1, 2}, tests_ = {0, 1};
  TracInOptions options_;
};

TEST_F(TracInReferenceTest, Products) {
  options_.train_self = options_.test_self = true;
  const Influence influence = Compute();
  EXPECT_THAT(influence.train, ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_THAT(influence.score, ElementsAre(1.5, 0, -3, 3.5, 2.5, -3));
  EXPECT_THAT(influence.train_self, ElementsAre(12.5, 12.5, 18));
  EXPECT_THAT(influence.test_self, ElementsAre(0.5, 1));
  EXPECT_THAT(influence.part_score, IsEmpty());
}

TEST_F(TracInReferenceTest, AllParametersWithoutParts) {
  options_.parts.clear();
  EXPECT_THAT(Compute().score, ElementsAre(2, 0.5, -2.5, 4, 3, -2.5));
}

TEST_F(TracInReferenceTest, Parts) {
  options_.parts = {{"a", {0}}, {"c", {3}}};
  options_.part_scores = true;
  options_.top_k = 1;
  const Influence influence = Compute();
  EXPECT_THAT(influence.score, ElementsAre(2, 4));
  EXPECT_THAT(influence.part_score, ElementsAre(1.5, 0.5, 3.5, 0.5));
}

TEST_F(TracInReferenceTest, Normalized) {
  options_.normalization = InfluenceNormalization::kTrainNorm;
  EXPECT_THAT(Compute().score, Pointwise(DoubleEq(), {0.3, 0.0, -0.5, 0.7, 0.5, -0.5}));
  options_.normalization = InfluenceNormalization::kCosine;
  const std::vector<double> score = Compute().score;
  EXPECT_DOUBLE_EQ(score[0], 0.3);
  EXPECT_DOUBLE_EQ(score[3], 0.7 / std::sqrt(2));
}

TEST_F(TracInReferenceTest, Preconditioner) {
  std::vector<double> factor(kP, 1);
  factor[1] = 0.5;
  EXPECT_THAT(Compute({Tensor::Of(factor)}).score, ElementsAre(1.5, 0, -3, 2.5, 1.25, -3));
}

TEST_F(TracInReferenceTest, Rankings) {
  options_.top_k = 1;
  options_.ranking = InfluenceRanking::kAbsolute;
  EXPECT_THAT(Compute().train, ElementsAre(2, 0));
  options_.ranking = InfluenceRanking::kLowest;
  EXPECT_THAT(Compute().train, ElementsAre(2, 2));
  options_.ranking = InfluenceRanking::kBoth;
  EXPECT_THAT(Compute().train, ElementsAre(0, 2, 0, 2));
  options_.top_k = 2;
  EXPECT_THAT(Compute().train, ElementsAre(0, 1, 2, 0, 1, 2));
}

TEST_F(TracInReferenceTest, WeightedTests) {
  options_.test_weight = {2, -1};
  const Influence influence = Compute();
  EXPECT_THAT(influence.tests, ElementsAre(-1));
  EXPECT_THAT(influence.score, ElementsAre(-0.5, -2.5, -3));
}

}  // namespace
}  // namespace rutile
