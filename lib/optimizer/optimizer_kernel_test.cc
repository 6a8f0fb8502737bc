#include "lib/optimizer/optimizer_kernel.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/machine/simd.h"

namespace rutile {
namespace {

template <typename T>
std::vector<T> Values(int n, const char* purpose, bool positive = false) {
  RandomStream stream(1, purpose);
  std::vector<T> values;
  for (int i = 0; i < n; ++i) values.push_back(static_cast<T>(stream.Uniform(positive ? 0.1 : -1, 1)));
  return values;
}

// Calls check for every target of the machine and for lengths below, at and above a vector of every target.
template <typename T>
void ForEachTargetAndLength(const std::function<void(int n, double tolerance)>& check) {
  for (int64_t targets = hwy::SupportedTargets(); targets != 0; targets &= targets - 1) {
    hwy::SetSupportedTargetsForTest(targets & -targets);
    for (const int n : {0, 1, 7, 8, 16, 35, 100}) check(n, sizeof(T) == 4 ? 1e-6 : 1e-15);
  }
  hwy::SetSupportedTargetsForTest(0);
}

template <typename T>
void CheckAdam() {
  ForEachTargetAndLength<T>([](int n, double tolerance) {
    AdamStep step;
    step.keep = 0.9;
    step.l2 = 0.3;
    step.beta1 = 0.8;
    step.beta2 = 0.6;
    step.epsilon = 0.01;
    step.step_size = 0.05;
    step.root_correction2 = 0.7;
    const auto g = Values<T>(n, "g"), m = Values<T>(n, "m"), v = Values<T>(n, "v", true), p = Values<T>(n, "p");
    auto new_m = m, new_v = v, new_p = p;
    AdamUpdate(step, absl::MakeConstSpan(g), absl::MakeSpan(new_m), absl::MakeSpan(new_v), absl::MakeSpan(new_p));
    for (int i = 0; i < n; ++i) {
      const double kept = 0.9 * p[i], gradient = g[i] + 0.3 * kept;
      const double first = 0.8 * m[i] + 0.2 * gradient, second = 0.6 * v[i] + 0.4 * gradient * gradient;
      EXPECT_NEAR(new_m[i], first, tolerance);
      EXPECT_NEAR(new_v[i], second, tolerance);
      EXPECT_NEAR(new_p[i], kept - 0.05 * first / (std::sqrt(second) / 0.7 + 0.01), tolerance);
    }
  });
}

TEST(AdamUpdateTest, MatchesTheFormulaF32) { CheckAdam<float>(); }
TEST(AdamUpdateTest, MatchesTheFormulaF64) { CheckAdam<double>(); }

// The largest mean of squares divides, whether it is this step's or an earlier one's, and is what remains.
template <typename T>
void CheckAmsgrad() {
  ForEachTargetAndLength<T>([](int n, double tolerance) {
    AdamStep step;
    step.beta1 = 0.8;
    step.beta2 = 0.6;
    step.epsilon = 0.01;
    step.step_size = 0.05;
    step.root_correction2 = 0.7;
    const auto g = Values<T>(n, "g"), m = Values<T>(n, "m"), v = Values<T>(n, "v", true), p = Values<T>(n, "p");
    const auto h = Values<T>(n, "h", true);
    auto new_m = m, new_v = v, new_p = p, new_h = h;
    AdamUpdate(step, absl::MakeConstSpan(g), absl::MakeSpan(new_m), absl::MakeSpan(new_v), absl::MakeSpan(new_p),
               absl::MakeSpan(new_h));
    for (int i = 0; i < n; ++i) {
      const double first = 0.8 * m[i] + 0.2 * g[i], second = 0.6 * v[i] + 0.4 * g[i] * g[i];
      const double largest = std::max<double>(h[i], second);
      EXPECT_NEAR(new_v[i], second, tolerance);
      EXPECT_NEAR(new_h[i], largest, tolerance);
      EXPECT_NEAR(new_p[i], p[i] - 0.05 * first / (std::sqrt(largest) / 0.7 + 0.01), tolerance);
    }
    auto kept = p, kept_m = m, kept_v = v, kept_p = p, kept_h = h;
    AdamUpdateKeeping(step, absl::MakeConstSpan(g), absl::MakeSpan(kept_m), absl::MakeSpan(kept_v),
                      absl::MakeSpan(kept_p), absl::MakeSpan(kept), absl::MakeSpan(kept_h));
    EXPECT_EQ(kept_p, new_p);
    EXPECT_EQ(kept_h, new_h);
    EXPECT_EQ(kept, p);
  });
}

TEST(AdamUpdateTest, AmsgradMatchesTheFormulaF32) { CheckAmsgrad<float>(); }
TEST(AdamUpdateTest, AmsgradMatchesTheFormulaF64) { CheckAmsgrad<double>(); }

template <typename T>
void CheckSgd() {
  for (const double momentum : {0.0, 0.7}) {
    for (const bool nesterov : {false, true}) {
      ForEachTargetAndLength<T>([&](int n, double tolerance) {
        SgdStep step;
        step.l2 = 0.3;
        step.momentum = momentum;
        step.gain = 0.9;
        step.nesterov = nesterov;
        step.learning_rate = 0.05;
        const auto g = Values<T>(n, "g"), p = Values<T>(n, "p");
        const auto b = momentum > 0 ? Values<T>(n, "b") : std::vector<T>();
        auto new_b = b, new_p = p;
        SgdUpdate(step, absl::MakeConstSpan(g), absl::MakeSpan(new_b), absl::MakeSpan(new_p));
        for (int i = 0; i < n; ++i) {
          const double gradient = g[i] + 0.3 * p[i];
          double direction = gradient;
          if (momentum > 0) {
            const double buffer = momentum * b[i] + 0.9 * gradient;
            EXPECT_NEAR(new_b[i], buffer, tolerance);
            direction = nesterov ? gradient + momentum * buffer : buffer;
          }
          EXPECT_NEAR(new_p[i], p[i] - 0.05 * direction, tolerance);
        }
      });
    }
  }
}

TEST(SgdUpdateTest, MatchesTheFormulaF32) { CheckSgd<float>(); }
TEST(SgdUpdateTest, MatchesTheFormulaF64) { CheckSgd<double>(); }

template <typename T>
void CheckRmsprop() {
  for (const double momentum : {0.0, 0.7}) {
    for (const bool centered : {false, true}) {
      ForEachTargetAndLength<T>([&](int n, double tolerance) {
        RmspropStep step;
        step.l2 = 0.3;
        step.alpha = 0.8;
        step.epsilon = 0.1;
        step.momentum = momentum;
        step.learning_rate = 0.05;
        const auto g = Values<T>(n, "g"), v = Values<T>(n, "v", true), p = Values<T>(n, "p");
        const auto m = centered ? Values<T>(n, "m") : std::vector<T>();
        const auto b = momentum > 0 ? Values<T>(n, "b") : std::vector<T>();
        auto new_v = v, new_m = m, new_b = b, new_p = p;
        RmspropUpdate(step, absl::MakeConstSpan(g), absl::MakeSpan(new_v), absl::MakeSpan(new_m), absl::MakeSpan(new_b),
                      absl::MakeSpan(new_p));
        for (int i = 0; i < n; ++i) {
          const double gradient = g[i] + 0.3 * p[i], square = 0.8 * v[i] + 0.2 * gradient * gradient;
          double variance = square;
          EXPECT_NEAR(new_v[i], square, tolerance);
          if (centered) {
            const double mean = 0.8 * m[i] + 0.2 * gradient;
            EXPECT_NEAR(new_m[i], mean, tolerance);
            variance = std::max(0.0, square - mean * mean);  // m and v of this test need not belong together
          }
          double direction = gradient / (std::sqrt(variance) + 0.1);
          if (momentum > 0) direction += momentum * b[i];
          // The root is steep where the variance is nearly 0, and then the direction is 10 times the gradient.
          const double loose = centered ? 1e3 * tolerance : 10 * tolerance;
          if (momentum > 0) {
            EXPECT_NEAR(new_b[i], direction, loose);
          }
          EXPECT_NEAR(new_p[i], p[i] - 0.05 * direction, loose);
        }
      });
    }
  }
}

TEST(RmspropUpdateTest, MatchesTheFormulaF32) { CheckRmsprop<float>(); }
TEST(RmspropUpdateTest, MatchesTheFormulaF64) { CheckRmsprop<double>(); }

// A repeated gradient has no variance but for rounding; the root of a negative remainder must not become NaN.
TEST(RmspropUpdateTest, NoVarianceIsNoNan) {
  RmspropStep step;
  step.alpha = 0.5;
  step.epsilon = 1e-8;
  step.learning_rate = 1e-9;
  const auto g = Values<float>(100, "g");
  std::vector<float> v(100), m(100), p(100);
  for (int i = 0; i < 60; ++i) {
    RmspropUpdate(step, absl::MakeConstSpan(g), absl::MakeSpan(v), absl::MakeSpan(m), {}, absl::MakeSpan(p));
  }
  for (const float value : p) EXPECT_TRUE(std::isfinite(value));
}

template <typename T>
void CheckAdagrad() {
  ForEachTargetAndLength<T>([](int n, double tolerance) {
    AdagradStep step;
    step.l2 = 0.3;
    step.epsilon = 0.1;
    step.step_size = 0.05;
    const auto g = Values<T>(n, "g"), s = Values<T>(n, "s", true), p = Values<T>(n, "p");
    auto new_s = s, new_p = p;
    AdagradUpdate(step, absl::MakeConstSpan(g), absl::MakeSpan(new_s), absl::MakeSpan(new_p));
    for (int i = 0; i < n; ++i) {
      const double gradient = g[i] + 0.3 * p[i], sum = s[i] + gradient * gradient;
      EXPECT_NEAR(new_s[i], sum, 4 * tolerance);
      EXPECT_NEAR(new_p[i], p[i] - 0.05 * gradient / (std::sqrt(sum) + 0.1), tolerance);
    }
  });
}

TEST(AdagradUpdateTest, MatchesTheFormulaF32) { CheckAdagrad<float>(); }
TEST(AdagradUpdateTest, MatchesTheFormulaF64) { CheckAdagrad<double>(); }

template <typename T>
void CheckScheduleFree() {
  ForEachTargetAndLength<T>([](int n, double tolerance) {
    ScheduleFreeStep step;
    step.beta2 = 0.6;
    step.epsilon = 0.1;
    step.decay = 0.3;
    step.root_correction2 = 0.7;
    step.share = 0.2;
    step.y_rate = 0.03;
    step.learning_rate = 0.05;
    const auto g = Values<T>(n, "g"), v = Values<T>(n, "v", true), z = Values<T>(n, "z"), y = Values<T>(n, "y");
    auto new_v = v, new_z = z, new_y = y;
    ScheduleFreeUpdate(step, absl::MakeConstSpan(g), absl::MakeSpan(new_v), absl::MakeSpan(new_z),
                       absl::MakeSpan(new_y));
    for (int i = 0; i < n; ++i) {
      const double second = 0.6 * v[i] + 0.4 * g[i] * g[i];
      const double direction = g[i] / (std::sqrt(second) / 0.7 + 0.1) + 0.3 * y[i];
      EXPECT_NEAR(new_v[i], second, tolerance);
      EXPECT_NEAR(new_z[i], z[i] - 0.05 * direction, tolerance);
      EXPECT_NEAR(new_y[i], y[i] + 0.2 * (static_cast<double>(z[i]) - y[i]) - 0.03 * direction, tolerance);
    }
  });
}

TEST(ScheduleFreeUpdateTest, MatchesTheFormulaF32) { CheckScheduleFree<float>(); }
TEST(ScheduleFreeUpdateTest, MatchesTheFormulaF64) { CheckScheduleFree<double>(); }

// An element's result is the same in a whole vector and in the remainder.
TEST(AdamUpdateTest, PositionDoesNotMatter) {
  AdamStep step;
  step.beta1 = 0.9;
  step.beta2 = 0.99;
  step.epsilon = 1e-8;
  step.step_size = 0.1;
  const int n = 64;
  const auto g = Values<float>(n, "g");
  auto m = Values<float>(n, "m"), v = Values<float>(n, "v", true), p = Values<float>(n, "p");
  const auto m0 = m, v0 = v, p0 = p;
  AdamUpdate(step, absl::MakeConstSpan(g), absl::MakeSpan(m), absl::MakeSpan(v), absl::MakeSpan(p));
  for (int i = 0; i < n; ++i) {
    std::vector<float> mi = {m0[i]}, vi = {v0[i]}, pi = {p0[i]};
    AdamUpdate(step, absl::MakeConstSpan(&g[i], 1), absl::MakeSpan(mi), absl::MakeSpan(vi), absl::MakeSpan(pi));
    EXPECT_EQ(pi[0], p[i]) << i;
    EXPECT_EQ(mi[0], m[i]) << i;
    EXPECT_EQ(vi[0], v[i]) << i;
  }
}

// Checks every alignment of `kept`, to which aligned vector stores are sensitive.
template <typename T>
void CheckKeeping() {
  AdamStep step;
  step.scale = 0.3;
  step.l2 = 0.2;
  step.beta1 = 0.9;
  step.beta2 = 0.99;
  step.epsilon = 1e-8;
  step.step_size = 0.1;
  ForEachTargetAndLength<T>([&](int n, double tolerance) {
    for (int offset = 0; offset < 17; ++offset) {
      const auto g = Values<T>(n, "g"), p = Values<T>(n, "p");
      auto m = Values<T>(n, "m"), v = Values<T>(n, "v", true), new_p = p;
      auto m2 = m, v2 = v, p2 = p;
      std::vector<T> kept(n + offset + 1, T(-7));
      const double squares = AdamUpdateKeeping(step, absl::MakeConstSpan(g), absl::MakeSpan(m), absl::MakeSpan(v),
                                               absl::MakeSpan(new_p), absl::MakeSpan(kept).subspan(offset, n));
      AdamUpdate(step, absl::MakeConstSpan(g), absl::MakeSpan(m2), absl::MakeSpan(v2), absl::MakeSpan(p2));
      EXPECT_EQ(new_p, p2);
      EXPECT_EQ(m, m2);
      EXPECT_EQ(v, v2);
      double expected = 0;
      for (int i = 0; i < n; ++i) {
        EXPECT_EQ(kept[offset + i], p[i]) << i;
        const double x = static_cast<T>(static_cast<T>(step.scale) * g[i]);
        expected += x * x;
      }
      EXPECT_NEAR(squares, expected, 1e-14 * expected);
      for (int i = 0; i < offset; ++i) EXPECT_EQ(kept[i], T(-7));
      EXPECT_EQ(kept.back(), T(-7));
    }
  });
}

TEST(AdamUpdateKeepingTest, KeepsAndMovesF32) { CheckKeeping<float>(); }
TEST(AdamUpdateKeepingTest, KeepsAndMovesF64) { CheckKeeping<double>(); }

TEST(OptimizerKernelDeathTest, RejectsUnequalLengths) {
  std::vector<float> two(2), three(3);
  EXPECT_DEATH(
      AdamUpdate({}, absl::MakeConstSpan(two), absl::MakeSpan(three), absl::MakeSpan(three), absl::MakeSpan(three)),
      "2 vs. 3");
  EXPECT_DEATH(AdamUpdate({}, absl::MakeConstSpan(two), absl::MakeSpan(two), absl::MakeSpan(two), absl::MakeSpan(two),
                          absl::MakeSpan(three)),
               "2 vs. 2");
  EXPECT_DEATH(SgdUpdate({}, absl::MakeConstSpan(two), absl::MakeSpan(three), absl::MakeSpan(three)), "2 vs. 3");
  EXPECT_DEATH(RmspropUpdate({}, absl::MakeConstSpan(two), absl::MakeSpan(three), {}, {}, absl::MakeSpan(three)),
               "2 vs. 3");
  EXPECT_DEATH(AdagradUpdate({}, absl::MakeConstSpan(two), absl::MakeSpan(three), absl::MakeSpan(three)), "2 vs. 3");
  EXPECT_DEATH(ScheduleFreeUpdate({}, absl::MakeConstSpan(two), absl::MakeSpan(three), absl::MakeSpan(three),
                                  absl::MakeSpan(three)),
               "2 vs. 3");
}

}  // namespace
}  // namespace rutile
