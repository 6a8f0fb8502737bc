#include "lib/optimizer/schedule/schedule_curve.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace rutile {
namespace {

ScheduleOptions OfKind(ScheduleKind kind, int64_t period = 0) {
  ScheduleOptions options;
  options.kind = kind;
  options.period = period;
  return options;
}

void ExpectCurve(const ScheduleOptions& options, double learning_rate, const std::vector<double>& expected) {
  for (size_t t = 0; t < expected.size(); ++t) {
    EXPECT_NEAR(ScheduleCurve(options, learning_rate, static_cast<int64_t>(t)), expected[t], 1e-15) << t;
  }
}

TEST(ScheduleCurveTest, Constant) { ExpectCurve(OfKind(ScheduleKind::kConstant), 0.5, {0.5, 0.5, 0.5}); }

TEST(ScheduleCurveTest, Step) {
  ScheduleOptions options = OfKind(ScheduleKind::kStep, 2);
  options.factor = 0.5;
  ExpectCurve(options, 0.1, {0.1, 0.1, 0.05, 0.05, 0.025, 0.025, 0.0125});
}

TEST(ScheduleCurveTest, MultistepDropsAtItsMilestones) {
  ScheduleOptions options = OfKind(ScheduleKind::kMultistep);
  options.milestones = {2, 3, 6};
  ExpectCurve(options, 1, {1, 1, 0.1, 0.01, 0.01, 0.01, 0.001, 0.001});
}

// Models a learning-rate range test: from 1e-8 to 1 in a hundred steps.
TEST(ScheduleCurveTest, ExponentialGrowsWithAFactorAboveOne) {
  ScheduleOptions options = OfKind(ScheduleKind::kExponential);
  options.factor = std::pow(10.0, 0.08);
  ASSERT_TRUE(CheckScheduleOptions(options).ok());
  EXPECT_EQ(ScheduleCurve(options, 1e-8, 0), 1e-8);
  EXPECT_NEAR(ScheduleCurve(options, 1e-8, 50), 1e-4, 1e-16);
  EXPECT_NEAR(ScheduleCurve(options, 1e-8, 100), 1, 1e-12);
}

TEST(ScheduleCurveTest, LinearStaysAtItsEnd) {
  ExpectCurve(OfKind(ScheduleKind::kLinear, 4), 1, {1, 0.75, 0.5, 0.25, 0, 0, 0});
}

// After the period the rate stays constant; PyTorch's would rise again.
TEST(ScheduleCurveTest, CosineStaysAtItsEnd) {
  ScheduleOptions options = OfKind(ScheduleKind::kCosine, 4);
  options.min_learning_rate = 0.2;
  const double root = std::sqrt(0.5);
  ExpectCurve(options, 1, {1, 0.6 + 0.4 * root, 0.6, 0.6 - 0.4 * root, 0.2, 0.2});
}

TEST(ScheduleCurveTest, RestartsAtTheFullRate) {
  ScheduleOptions options = OfKind(ScheduleKind::kCosineRestarts, 1000);
  options.period_mult = 3;
  // Periods begin at 1000 (3^n - 1) / 2, where a computed logarithm of t is not quite n.
  for (int64_t begin = 0, length = 1000; begin < 1000000000; begin += length, length *= 3) {
    EXPECT_EQ(ScheduleCurve(options, 0.1, begin), 0.1) << begin;
    EXPECT_LT(ScheduleCurve(options, 0.1, begin + length - 1), 1e-6) << begin;
    EXPECT_NEAR(ScheduleCurve(options, 0.1, begin + length / 2), 0.05, 1e-15) << begin;
  }
}

// PyTorch multiplies lr by (1 - t/T)^p; here the part of lr above the minimum falls in this way.
TEST(ScheduleCurveTest, PolynomialEndsAtTheMinimum) {
  ScheduleOptions options = OfKind(ScheduleKind::kPolynomial, 4);
  options.power = 2;
  options.min_learning_rate = 0.2;
  ExpectCurve(options, 1, {1, 0.2 + 0.8 * 9 / 16, 0.2 + 0.8 / 4, 0.2 + 0.8 / 16, 0.2, 0.2});
}

TEST(ScheduleCurveTest, OneCycleReachesItsThreeRates) {
  ScheduleOptions options = OfKind(ScheduleKind::kOneCycle, 100);
  options.pct_start = 0.4;
  for (const Anneal anneal : {Anneal::kCosine, Anneal::kLinear}) {
    options.anneal = anneal;
    EXPECT_DOUBLE_EQ(ScheduleCurve(options, 0.1, 0), 0.1 / 25);
    EXPECT_DOUBLE_EQ(ScheduleCurve(options, 0.1, 39), 0.1);
    EXPECT_DOUBLE_EQ(ScheduleCurve(options, 0.1, 99), 0.1 / 25 / 1e4);
    EXPECT_DOUBLE_EQ(ScheduleCurve(options, 0.1, 1000), 0.1 / 25 / 1e4);
    for (int t = 1; t < 100; ++t) {
      EXPECT_EQ(ScheduleCurve(options, 0.1, t) > ScheduleCurve(options, 0.1, t - 1), t <= 39) << t;
    }
  }
  // In a run of one step the peak is the whole run, or no step at all.
  options.period = 1;
  options.pct_start = 1;
  EXPECT_DOUBLE_EQ(ScheduleCurve(options, 0.1, 0), 0.1);
}

TEST(ScheduleCurveTest, NeverBelowTheMinimum) {
  ScheduleOptions options = OfKind(ScheduleKind::kExponential);
  options.min_learning_rate = 0.05;
  ExpectCurve(options, 1, {1, 0.1, 0.05, 0.05});
  // A rate that starts below the minimum is not raised.
  ExpectCurve(options, 0.01, {0.01, 0.01});
}

}  // namespace
}  // namespace rutile
