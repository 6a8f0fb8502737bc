#include "lib/potential/model/loss_function.h"

#include <cmath>

#include "gtest/gtest.h"

namespace rutile {
namespace {

TEST(LossFunctionTest, HuberJoinsSmoothly) {
  const ErrorLoss square(LossKind::kMse, 0.5), huber(LossKind::kHuber, 0.5);
  EXPECT_EQ(square.Value(-3), 9);
  EXPECT_EQ(square.Slope(-3), -6);
  EXPECT_EQ(huber.Value(0.5), 0.125);
  EXPECT_EQ(huber.Value(-2), 0.5 * (2 - 0.25));
  for (const double e : {-2.0, -0.4, 0.0, 0.3, 1.7}) {
    EXPECT_NEAR((huber.Value(e + 1e-6) - huber.Value(e - 1e-6)) / 2e-6, huber.Slope(e), 1e-9);
  }
}

// As in aenet-python, L = (1 - alpha) RMSE_E + alpha RMSE_F, and the energy term alone for a batch without forces.
TEST(LossFunctionTest, MixesRootsOfMeans) {
  TermSums sums(2);
  sums.sum = {8, 48};
  sums.count = {2, 12};
  const Loss loss = CombineLossTerms(LossKind::kRmse, {0.9, 0.1}, sums);
  EXPECT_DOUBLE_EQ(loss.value, 0.9 * 2 + 0.1 * 2);
  for (int t = 0; t < 2; ++t) {
    TermSums more = sums, less = sums;
    more.sum[t] += 1e-5;
    less.sum[t] -= 1e-5;
    const double slope = (CombineLossTerms(LossKind::kRmse, {0.9, 0.1}, more).value -
                          CombineLossTerms(LossKind::kRmse, {0.9, 0.1}, less).value) /
                         2e-5;
    EXPECT_NEAR(loss.weight[t], slope, 1e-9);
  }
  sums.sum[1] = sums.count[1] = 0;
  const Loss energies = CombineLossTerms(LossKind::kRmse, {0.9, 0.1}, sums);
  EXPECT_DOUBLE_EQ(energies.value, 1.8);
  EXPECT_EQ(energies.weight[1], 0);
}

TEST(LossFunctionTest, MeansAndNoErrorAtAll) {
  TermSums sums(2);
  sums.count = {4, 2};
  sums.sum = {0, 3};
  const Loss mean = CombineLossTerms(LossKind::kMse, {1, 2}, sums);
  EXPECT_DOUBLE_EQ(mean.value, 3);
  EXPECT_EQ(mean.weight, (decltype(Loss::weight){0.25, 1}));
  EXPECT_EQ(CombineLossTerms(LossKind::kRmse, {1, 2}, sums).weight[0], 0);
}

}  // namespace
}  // namespace rutile
