#include "lib/potential/influence/curvature/gauss_newton_testing.h"

#include <cmath>
#include <numeric>

#include "gtest/gtest.h"

namespace rutile {

std::vector<double> UnevenDamping(int64_t p) {
  std::vector<double> damping(p);
  for (int64_t k = 0; k < p; ++k) damping[k] = 0.01 * (1 + 0.5 * std::cos(static_cast<double>(k)));
  return damping;
}

void ExpectHalvesAndEqualBits(const GaussNewton& one, const GaussNewton& two) {
  const int64_t p = one.size();
  std::vector<double> v(2 * p);
  for (int64_t k = 0; k < 2 * p; ++k) v[k] = std::sin(static_cast<double>(k));
  std::vector<double> solved = v, half = v, again = v;
  one.Solve(2, solved.data(), nullptr);
  one.SolveHalf(2, half.data(), nullptr);
  // Returns the product of row i of a and row j of b, [2, p] both.
  const auto product = [p](const std::vector<double>& a, int i, const std::vector<double>& b, int j) {
    return std::inner_product(&a[i * p], &a[i * p] + p, &b[j * p], 0.0);
  };
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      const double whole = product(v, i, solved, j);
      EXPECT_NEAR(product(half, i, half, j), whole, 1e-10 * std::abs(whole)) << i << " and " << j;
    }
  }
  two.Solve(2, again.data(), nullptr);
  EXPECT_EQ(again, solved) << "bits of two threads";
}

}  // namespace rutile
