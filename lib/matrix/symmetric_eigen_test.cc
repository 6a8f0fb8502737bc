#include "lib/matrix/symmetric_eigen.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "lib/base/random.h"

namespace rutile {
namespace {

const double kPi = std::acos(-1.0);

// Expects rows of unit length at right angles, of which each is an eigenvector.
void ExpectEigenvectors(int64_t n, const std::vector<double>& a) {
  std::vector<double> v = a, values(n);
  ASSERT_TRUE(EigenSymmetric(n, v.data(), values.data())) << n;
  double scale = 1e-300;
  for (const double each : a) scale = std::max(scale, std::abs(each));
  // Each of the n reflections and n rotations of a row rounds.
  const double tolerance = 1e-14 * static_cast<double>(n + 2);
  for (int64_t i = 0; i < n; ++i) {
    EXPECT_LE(values[std::max<int64_t>(i - 1, 0)], values[i]);
    for (int64_t j = 0; j <= i; ++j) {
      double product = 0;
      for (int64_t k = 0; k < n; ++k) product += v[i * n + k] * v[j * n + k];
      EXPECT_NEAR(product, i == j, tolerance) << n << ": " << i << " " << j;
    }
    for (int64_t j = 0; j < n; ++j) {
      double product = 0;
      for (int64_t k = 0; k < n; ++k) product += a[j * n + k] * v[i * n + k];
      EXPECT_NEAR(product, values[i] * v[i * n + j], tolerance * scale * static_cast<double>(n)) << n << ": " << i;
    }
  }
}

// The squares B B^T of a random B [n, rank].
std::vector<double> Squares(int64_t n, int64_t rank) {
  RandomStream stream(n, "eigen", rank);
  std::vector<double> b(n * rank), a(n * n, 0.0);
  for (double& each : b) each = stream.Uniform() - 0.5;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t k = 0; k < rank; ++k) a[i * n + j] += b[i * rank + k] * b[j * rank + k];
    }
  }
  return a;
}

TEST(SymmetricEigenTest, RandomMatricesOfAnyRank) {
  for (const int64_t n : {1, 2, 3, 4, 7, 16, 33, 90}) {
    for (const int64_t rank : {int64_t{0}, int64_t{1}, n / 2, n}) ExpectEigenvectors(n, Squares(n, rank));
  }
}

// With 2 on the diagonal and -1 beside it, the eigenvalues are 2 - 2 cos(k pi / (n + 1)).
TEST(SymmetricEigenTest, SecondDifferences) {
  const int64_t n = 31;
  std::vector<double> a(n * n, 0.0), values(n);
  for (int64_t i = 0; i < n; ++i) {
    a[i * n + i] = 2;
    if (i > 0) a[i * n + i - 1] = a[(i - 1) * n + i] = -1;
  }
  ExpectEigenvectors(n, a);
  ASSERT_TRUE(EigenSymmetric(n, a.data(), values.data()));
  for (int64_t k = 0; k < n; ++k) {
    EXPECT_NEAR(values[k], 2 - 2 * std::cos((static_cast<double>(k) + 1) * kPi / (static_cast<double>(n) + 1)), 1e-14);
  }
}

TEST(SymmetricEigenTest, DiagonalsEqualValuesAndSizes) {
  ExpectEigenvectors(3, {5, 0, 0, 0, -1, 0, 0, 0, 5});
  ExpectEigenvectors(3, {1, 1, 1, 1, 1, 1, 1, 1, 1});
  ExpectEigenvectors(2, {0, 1, 1, 0});
  // Numbers of sizes that differ by more than their digits.
  ExpectEigenvectors(3, {1e20, 1e10, 1, 1e10, 1, 1e-10, 1, 1e-10, 1e-20});
  std::vector<double> one = {-4}, value(1);
  ASSERT_TRUE(EigenSymmetric(1, one.data(), value.data()));
  EXPECT_EQ(value[0], -4);
  EXPECT_EQ(one[0], 1);
  EXPECT_TRUE(EigenSymmetric(0, nullptr, nullptr));
}

TEST(SymmetricEigenTest, NumbersThatAreNotFiniteHaveNone) {
  for (const double odd : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    std::vector<double> a = {1, odd, odd, 1}, values(2);
    EXPECT_FALSE(EigenSymmetric(2, a.data(), values.data()));
  }
}

}  // namespace
}  // namespace rutile
