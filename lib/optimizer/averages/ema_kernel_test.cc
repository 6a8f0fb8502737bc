#include "lib/optimizer/averages/ema_kernel.h"

#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/testing/for_each_target.h"

namespace rutile {
namespace {

template <typename T>
std::vector<T> Values(int n, const char* purpose) {
  RandomStream stream(1, purpose);
  std::vector<T> values;
  for (int i = 0; i < n; ++i) values.push_back(static_cast<T>(stream.Uniform(-1, 1)));
  return values;
}

// Lengths are below, at and above a vector of every target.
template <typename T>
void CheckFormula(double tolerance) {
  ForEachTarget([&] {
    for (const int n : {0, 1, 7, 8, 16, 35, 100}) {
      const std::vector<T> p = Values<T>(n, "p"), before = Values<T>(n, "average");
      std::vector<T> average = before;
      EmaUpdate(0.3, absl::MakeConstSpan(p), absl::MakeSpan(average));
      for (int i = 0; i < n; ++i) EXPECT_NEAR(average[i], 0.7 * before[i] + 0.3 * p[i], tolerance) << n << " " << i;
    }
  });
}

TEST(EmaUpdateTest, MatchesTheFormulaF32) { CheckFormula<float>(2e-7); }
TEST(EmaUpdateTest, MatchesTheFormulaF64) { CheckFormula<double>(4e-16); }

// Each element gives the same bits in a vector as alone.
TEST(EmaUpdateTest, SameBitsWhereverAnElementLies) {
  ForEachTarget([] {
    const std::vector<float> p = Values<float>(67, "p"), before = Values<float>(67, "average");
    std::vector<float> whole = before, single = before;
    EmaUpdate(0.1, absl::MakeConstSpan(p), absl::MakeSpan(whole));
    for (size_t i = 0; i < p.size(); ++i) {
      EmaUpdate(0.1, absl::MakeConstSpan(p).subspan(i, 1), absl::MakeSpan(single).subspan(i, 1));
    }
    EXPECT_EQ(whole, single);
  });
}

TEST(EmaUpdateTest, KeepsAConstantExactly) {
  ForEachTarget([] {
    const std::vector<float> p = Values<float>(67, "p");
    std::vector<float> average = p;
    for (int i = 0; i < 1000; ++i) EmaUpdate(1e-4, absl::MakeConstSpan(p), absl::MakeSpan(average));
    EXPECT_EQ(average, p);
  });
}

TEST(EmaUpdateDeathTest, RejectsUnequalLengths) {
  std::vector<double> p(3), average(2);
  EXPECT_DEATH(EmaUpdate(0.1, absl::MakeConstSpan(p), absl::MakeSpan(average)), "3 vs. 2");
}

}  // namespace
}  // namespace rutile
