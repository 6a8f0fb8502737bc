#include "lib/influence/datamodeling_score.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/influence/subset_plan.h"

namespace rutile {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

TEST(DatamodelingScoreTest, PredictsByWhatIsKept) {
  // Two tests, three subsets of four examples.
  const std::vector<uint8_t> kept = {1, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0};
  const std::vector<double> score = {1, 2, 4, 8, -1, 0.5, 0, 0.25};
  EXPECT_THAT(PredictSubsets(kept, score, 2, 3), ElementsAre(-3, -10, 0, 0.5, -0.75, 0));
}

// Orders of three: equal, reversed, one pair exchanged (1 - 6 * 2 / (3 * 8) = 0.5), and no order.
TEST(DatamodelingScoreTest, KnownCorrelations) {
  const std::vector<double> yhat = {1, 2, 3, 1, 2, 3, 1, 2, 3, 7, 7, 7, 1, 2, 3};
  const std::vector<double> y = {10, 20, 90, 3, 2, 1, 1, 5, 3, 1, 2, 3, 4, 4, 4};
  const DatamodelingScore score = ScoreDatamodel(yhat, y, 5, {/*draws=*/0});
  const double rounding = 1e-12;
  EXPECT_THAT(score.of_test, ElementsAre(DoubleNear(1, rounding), DoubleNear(-1, rounding), DoubleNear(0.5, rounding),
                                         DoubleNear(0, rounding), DoubleNear(0, rounding)));
  EXPECT_NEAR(score.mean.value, 0.1, rounding);
  EXPECT_NEAR(score.median.value, 0, rounding);
  EXPECT_EQ(score.mean.low, score.mean.value);
}

// A ridge regression's prediction is linear in its labels: y of a subset mean is known, and its own influence predicts
// it. Here the model is the mean of the kept labels of each feature, and leaving out moves it by the label.
TEST(DatamodelingScoreTest, LinearModelsArePredictedExactly) {
  constexpr int64_t kNum = 30, kSubsets = 50;
  SubsetPlanOptions options;
  options.num_subsets = kSubsets;
  const std::vector<uint8_t> kept = DrawSubsets(kNum, options, {}, {}).value();
  RandomStream stream(3, "labels");
  std::vector<double> label(kNum), score(kNum);
  for (int64_t i = 0; i < kNum; ++i) {
    label[i] = stream.Normal();
    score[i] = -label[i] / 15;  // its share in the mean: keeping it raises the prediction by label / 15
  }
  std::vector<double> y(kSubsets, 0);
  for (int64_t m = 0; m < kSubsets; ++m) {
    for (int64_t i = 0; i < kNum; ++i) y[m] += kept[m * kNum + i] * label[i] / 15;
  }
  const DatamodelingScore found = ScoreDatamodel(PredictSubsets(kept, score, 1, kSubsets), y, 1, {});
  EXPECT_DOUBLE_EQ(found.mean.value, 1);
  EXPECT_GT(found.mean.low, 0.999);  // resampled subsets that are there twice are ties, of the same order
}

// y = yhat + noise: the interval of the bootstrap over subsets covers the true correlation about as often as it says,
// and is wider with fewer subsets.
TEST(DatamodelingScoreTest, IntervalsCoverTheTruth) {
  constexpr int64_t kSubsets = 60;
  // Spearman's correlation of two normal variables of Pearson's r = 1 / sqrt(2).
  const double truth = 6 / std::acos(-1.0) * std::asin(std::sqrt(0.5) / 2);
  int covered = 0;
  double width = 0;
  for (int run = 0; run < 100; ++run) {
    RandomStream stream(5, "noise", run);
    std::vector<double> yhat(kSubsets), y(kSubsets);
    for (int64_t m = 0; m < kSubsets; ++m) {
      yhat[m] = stream.Normal();
      y[m] = yhat[m] + stream.Normal();
    }
    BootstrapOptions options;
    options.draws = 200;
    const ScoreInterval found = ScoreDatamodel(yhat, y, 1, options).mean;
    EXPECT_LT(found.low, found.value);
    EXPECT_GT(found.high, found.value);
    covered += found.low <= truth && truth <= found.high ? 1 : 0;
    width += (found.high - found.low) / 100;
  }
  EXPECT_GE(covered, 85);  // 95 are expected; percentile intervals of 60 draws fall a little short
  EXPECT_GT(width, 0.15);
  EXPECT_LT(width, 0.45);
}

// All tests share the subsets: the interval of a hundred equal tests is that of one.
TEST(DatamodelingScoreTest, TestsDoNotCountAsDraws) {
  constexpr int64_t kSubsets = 40, kTests = 100;
  RandomStream stream(7, "noise");
  std::vector<double> yhat, y;
  for (int64_t m = 0; m < kSubsets; ++m) {
    yhat.push_back(stream.Normal());
    y.push_back(yhat.back() + stream.Normal());
  }
  const ScoreInterval one = ScoreDatamodel(yhat, y, 1, {200}).mean;
  std::vector<double> yhats, ys;
  for (int64_t t = 0; t < kTests; ++t) {
    yhats.insert(yhats.end(), yhat.begin(), yhat.end());
    ys.insert(ys.end(), y.begin(), y.end());
  }
  const ScoreInterval all = ScoreDatamodel(yhats, ys, kTests, {200}).mean;
  EXPECT_NEAR(all.low, one.low, 1e-12);
  EXPECT_NEAR(all.high, one.high, 1e-12);
}

// y of a seed is the expected outcome and noise of the same size: two seeds agree by about 1/2 (Pearson), and the mean
// of K correlates with the expected outcome as the formula says.
TEST(DatamodelingScoreTest, TheCeilingIsWhatTheExpectedOutcomeScores) {
  constexpr int64_t kSubsets = 4000;
  RandomStream stream(9, "seeds");
  std::vector<double> expected(kSubsets), mean(kSubsets, 0);
  std::vector<std::vector<double>> y(4, std::vector<double>(kSubsets));
  for (int64_t m = 0; m < kSubsets; ++m) {
    expected[m] = stream.Normal();
    for (std::vector<double>& seed : y) {
      seed[m] = expected[m] + stream.Normal();
      mean[m] += seed[m] / 4;
    }
  }
  const double agreement = SeedAgreement(y, 1);
  EXPECT_NEAR(agreement, 6 / std::acos(-1.0) * std::asin(0.25), 0.03);  // Spearman's of Pearson's 1/2
  EXPECT_NEAR(ScoreCeiling(agreement, 4), ScoreDatamodel(expected, mean, 1, {0}).mean.value, 0.03);
  EXPECT_DOUBLE_EQ(ScoreCeiling(0.5, 1), std::sqrt(0.5));
  EXPECT_DOUBLE_EQ(ScoreCeiling(1, 3), 1);
  EXPECT_DOUBLE_EQ(ScoreCeiling(-0.1, 3), 0);
}

}  // namespace
}  // namespace rutile
