#include "lib/kge/model/kge_labels.h"

#include "gtest/gtest.h"

namespace rutile {
namespace {

KgeOptions Options(KgeLoss loss, LabelSmoothing form, double eps) {
  KgeOptions options;
  options.loss = loss;
  options.smoothing_form = form;
  options.label_smoothing = eps;
  return options;
}

TEST(SmoothLabelsTest, FormsAreThoseOfTheProjects) {
  const auto labels = [](LabelSmoothing form) {
    return SmoothLabels(Options(KgeLoss::kOneToN, form, 0.1), /*num_entities=*/12, /*num_true=*/3);
  };
  // (1 - eps) y + 1/N;  (1 - eps) y + eps/N;  (1 - eps) y + eps/(N - 1) (1 - y).
  EXPECT_DOUBLE_EQ(labels(LabelSmoothing::kDettmers).base, 1.0 / 12);
  EXPECT_DOUBLE_EQ(labels(LabelSmoothing::kDettmers).extra, 0.9);
  EXPECT_DOUBLE_EQ(labels(LabelSmoothing::kStandard).base, 0.1 / 12);
  EXPECT_DOUBLE_EQ(labels(LabelSmoothing::kStandard).extra, 0.9);
  EXPECT_DOUBLE_EQ(labels(LabelSmoothing::kPykeen).base, 0.1 / 11);
  EXPECT_DOUBLE_EQ(labels(LabelSmoothing::kPykeen).base + labels(LabelSmoothing::kPykeen).extra, 0.9);
}

TEST(SmoothLabelsTest, WithoutSmoothingEveryFormIsZeroAndOne) {
  for (const LabelSmoothing form : {LabelSmoothing::kDettmers, LabelSmoothing::kStandard, LabelSmoothing::kPykeen}) {
    const SmoothedLabels labels = SmoothLabels(Options(KgeLoss::kOneOfN, form, 0), 12, 1);
    EXPECT_EQ(labels.base, 0);
    EXPECT_EQ(labels.extra, 1);
  }
}

TEST(SmoothLabelsTest, LabelsOfASoftmaxAddUpToOne) {
  for (const KgeLoss loss : {KgeLoss::kOneVsAll, KgeLoss::kKvsAll}) {
    for (const LabelSmoothing form : {LabelSmoothing::kDettmers, LabelSmoothing::kStandard, LabelSmoothing::kPykeen}) {
      for (const double eps : {0.0, 0.1, 0.5}) {
        const SmoothedLabels labels = SmoothLabels(Options(loss, form, eps), 12, 3);
        EXPECT_NEAR(12 * labels.base + 3 * labels.extra, 1, 1e-15);
      }
    }
  }
}

// Three triples of one head and relation have the labels base everywhere and extra on their own tail.
TEST(SmoothLabelsTest, LabelsOfGroupedQueriesAreTheMeanOfTheirTriples) {
  for (const LabelSmoothing form : {LabelSmoothing::kDettmers, LabelSmoothing::kStandard, LabelSmoothing::kPykeen}) {
    for (const double eps : {0.0, 0.1, 0.5}) {
      KgeOptions options = Options(KgeLoss::kOneVsAll, form, eps);
      const SmoothedLabels one = SmoothLabels(options, 12, 1);
      EXPECT_EQ(QueryWeight(options, 3), 1);
      options.group_queries = true;
      const SmoothedLabels labels = SmoothLabels(options, 12, 3);
      EXPECT_DOUBLE_EQ(labels.base, one.base);
      EXPECT_DOUBLE_EQ(labels.extra, one.extra / 3);
      EXPECT_EQ(QueryWeight(options, 3), 3);
      EXPECT_TRUE(LearnsKeys(options));
      options.loss = KgeLoss::kKvsAll;  // where the option has no effect
      EXPECT_EQ(QueryWeight(options, 3), 1);
      EXPECT_NEAR(12 * SmoothLabels(options, 12, 3).base + 3 * SmoothLabels(options, 12, 3).extra, 1, 1e-15);
    }
  }
}

TEST(KgeLossTest, KindsOfLosses) {
  EXPECT_TRUE(IsKeyLoss(KgeLoss::kOneToN));
  EXPECT_FALSE(IsKeyLoss(KgeLoss::kOneOfN));
  EXPECT_FALSE(IsKeyLoss(KgeLoss::kOneVsAll));
  EXPECT_TRUE(IsKeyLoss(KgeLoss::kKvsAll));
  EXPECT_FALSE(IsSoftmaxLoss(KgeLoss::kOneToN));
  EXPECT_TRUE(IsSoftmaxLoss(KgeLoss::kOneVsAll));
}

}  // namespace
}  // namespace rutile
