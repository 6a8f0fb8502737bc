#include "lib/kge/new_entities/minimize.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace rutile {
namespace {

TEST(MinimizeTest, QuadraticWithADiagonalOfFourOrders) {
  const ValueAndGradient function = [](absl::Span<const double> x, absl::Span<double> gradient) {
    double value = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double curvature = std::pow(10.0, static_cast<double>(i % 5) - 2), from = x[i] - static_cast<double>(i);
      value += curvature * from * from / 2;
      gradient[i] = curvature * from;
    }
    return value;
  };
  const Minimum minimum = Minimize(function, std::vector<double>(30, 1.0), 1e-10, 1000);
  EXPECT_LE(minimum.gradient_norm, 1e-10);
  // The smallest curvature is 0.01: an element is off by at most a hundred times its slope.
  for (size_t i = 0; i < 30; ++i) EXPECT_NEAR(minimum.x[i], static_cast<double>(i), 1e-8);
  EXPECT_LT(minimum.evaluations, 200);
}

TEST(MinimizeTest, RosenbrocksValley) {
  const ValueAndGradient function = [](absl::Span<const double> x, absl::Span<double> g) {
    const double a = 1 - x[0], b = x[1] - x[0] * x[0];
    g[0] = -2 * a - 400 * x[0] * b;
    g[1] = 200 * b;
    return a * a + 100 * b * b;
  };
  const Minimum minimum = Minimize(function, {-1.2, 1}, 1e-9, 1000);
  EXPECT_LE(minimum.gradient_norm, 1e-9);
  EXPECT_NEAR(minimum.x[0], 1, 1e-8);
  EXPECT_NEAR(minimum.x[1], 1, 1e-8);
}

// The minimum of -log(x) + x is at 1; steps to x <= 0, where the value is NaN, are shortened.
TEST(MinimizeTest, StepsBackFromWhereThereIsNoValue) {
  const ValueAndGradient function = [](absl::Span<const double> x, absl::Span<double> g) {
    g[0] = 1 - 1 / x[0];
    return x[0] > 0 ? x[0] - std::log(x[0]) : std::numeric_limits<double>::quiet_NaN();
  };
  EXPECT_NEAR(Minimize(function, {0.01}, 1e-10, 1000).x[0], 1, 1e-9);
}

TEST(MinimizeTest, AGradientThatIsNoNumberIsReported) {
  const ValueAndGradient function = [](absl::Span<const double> /*x*/, absl::Span<double> g) {
    g[0] = std::numeric_limits<double>::quiet_NaN();
    g[1] = 1e-20;
    return 1.0;
  };
  EXPECT_TRUE(std::isnan(Minimize(function, {0, 0}, 1e-10, 100).gradient_norm));
}

TEST(MinimizeTest, EndsAtTheLimitAndAtAKink) {
  const ValueAndGradient kink = [](absl::Span<const double> x, absl::Span<double> g) {
    g[0] = x[0] < 0 ? -1 : 2;
    return x[0] < 0 ? -x[0] : 2 * x[0];
  };
  const Minimum minimum = Minimize(kink, {0.7}, 1e-10, 500);
  EXPECT_NEAR(minimum.x[0], 0, 1e-6);
  EXPECT_GE(minimum.gradient_norm, 1);
  EXPECT_LE(minimum.evaluations, 500);
  EXPECT_EQ(Minimize(kink, {0.7}, 1e-10, 1).evaluations, 1);
}

// The valley ends at 1, and the value falls by little once it is flat enough.
TEST(MinimizeTest, EndsWhereTheValueHardlyFalls) {
  const ValueAndGradient quartic = [](absl::Span<const double> x, absl::Span<double> g) {
    double value = 1;
    for (size_t i = 0; i < x.size(); ++i) {
      const double weight = static_cast<double>(i + 1), d = x[i] - 1;
      value += weight * d * d * d * d;
      g[i] = 4 * weight * d * d * d;
    }
    return value;
  };
  const Minimum all = Minimize(quartic, std::vector<double>(10, 3.0), 1e-30, 1000);
  const Minimum some = Minimize(quartic, std::vector<double>(10, 3.0), 1e-30, 1000, 1e-6);
  EXPECT_LT(some.evaluations, all.evaluations);
  EXPECT_NEAR(some.value, 1, 1e-5);
}

}  // namespace
}  // namespace rutile
