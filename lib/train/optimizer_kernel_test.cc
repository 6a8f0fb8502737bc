#include "lib/train/optimizer_kernel.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/base/simd.h"

namespace rutile {
namespace {

template <typename T>
std::vector<T> Values(int n, const char* purpose, bool positive = false) {
  RandomStream stream(1, purpose);
  std::vector<T> values;
  for (int i = 0; i < n; ++i) values.push_back(static_cast<T>(stream.Uniform(positive ? 0.1 : -1, 1)));
  return values;
}

// Lengths below, at and above a vector of every target; every target that the machine has.
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

// An element's result does not depend on where it lies: in a whole vector or in the rest.
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

TEST(OptimizerKernelDeathTest, RejectsUnequalLengths) {
  std::vector<float> two(2), three(3);
  EXPECT_DEATH(
      AdamUpdate({}, absl::MakeConstSpan(two), absl::MakeSpan(three), absl::MakeSpan(three), absl::MakeSpan(three)),
      "2 vs. 3");
  EXPECT_DEATH(SgdUpdate({}, absl::MakeConstSpan(two), absl::MakeSpan(three), absl::MakeSpan(three)), "2 vs. 3");
}

}  // namespace
}  // namespace rutile
