#include "lib/matrix/cholesky.h"

#include <cmath>
#include <csignal>
#include <vector>

#include "gtest/gtest.h"
#include "lib/base/interrupt.h"
#include "lib/base/random.h"
#include "lib/machine/parallel_for.h"

namespace rutile {
namespace {

std::vector<double> Random(int64_t n, uint64_t seed) {
  RandomStream stream(seed, "cholesky");
  std::vector<double> values(n);
  for (double& each : values) each = stream.Uniform() - 0.5;
  return values;
}

// Returns B B^T + I of a random B [n, n].
std::vector<double> Positive(int64_t n) {
  const std::vector<double> b = Random(n * n, n);
  std::vector<double> a(n * n);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = i == j;
      for (int64_t k = 0; k < n; ++k) sum += b[i * n + k] * b[j * n + k];
      a[i * n + j] = sum;
    }
  }
  return a;
}

TEST(CholeskyTest, FactorTimesItsTransposeIsTheMatrix) {
  for (const int64_t n : {1, 2, 7, 95, 96, 97, 193, 300}) {
    const std::vector<double> a = Positive(n);
    std::vector<double> l = a;
    ASSERT_TRUE(FactorCholesky(n, l.data()));
    double worst = 0;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j <= i; ++j) {
        double sum = 0;
        for (int64_t k = 0; k <= j; ++k) sum += l[i * n + k] * l[j * n + k];
        worst = std::max(worst, std::abs(sum - a[i * n + j]));
      }
      for (int64_t j = i + 1; j < n; ++j) EXPECT_EQ(l[i * n + j], a[i * n + j]) << "above the diagonal";
    }
    EXPECT_LT(worst, 1e-13 * n) << n;
  }
}

TEST(CholeskyTest, ASignalEndsALargeOne) {
  ThreadPool pool(2);
  for (ThreadPool* const threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
    const int64_t n = 301;
    const std::vector<double> a = Positive(n);
    std::vector<double> whole = a, watched = a;
    ASSERT_TRUE(FactorCholesky(n, whole.data(), threads));
    ASSERT_TRUE(FactorCholeskyUntilInterrupted(n, watched.data(), threads));
    EXPECT_EQ(watched, whole);
    SetInterruptForTest(SIGTERM);
    watched = a;
    EXPECT_FALSE(FactorCholeskyUntilInterrupted(n, watched.data(), threads));
    EXPECT_NE(watched, whole);
    watched = a;
    EXPECT_TRUE(FactorCholesky(n, watched.data(), threads));
    EXPECT_EQ(watched, whole);
    SetInterruptForTest(0);
  }
}

TEST(CholeskyTest, ThreadsGiveTheSameBits) {
  const int64_t n = 301, m = 70;
  const std::vector<double> a = Positive(n), sides = Random(n * m, 5);
  std::vector<double> one = a, two = a, x = sides, y = sides;
  ThreadPool pool(2);
  ASSERT_TRUE(FactorCholesky(n, one.data()));
  ASSERT_TRUE(FactorCholesky(n, two.data(), &pool));
  EXPECT_EQ(one, two);
  SolveLower(n, one.data(), n, m, x.data());
  SolveLower(n, one.data(), n, m, y.data(), &pool);
  EXPECT_EQ(x, y);
  SolveLowerTransposed(n, one.data(), n, m, x.data());
  SolveLowerTransposed(n, one.data(), n, m, y.data(), &pool);
  EXPECT_EQ(x, y);
}

TEST(CholeskyTest, SolutionsSolve) {
  for (const int64_t n : {1, 5, 96, 200, 289}) {
    for (const int64_t m : {1, 3, 65}) {
      const std::vector<double> a = Positive(n), b = Random(n * m, 7);
      std::vector<double> l = a, x = b;
      ASSERT_TRUE(FactorCholesky(n, l.data()));
      SolveLower(n, l.data(), n, m, x.data());
      SolveLowerTransposed(n, l.data(), n, m, x.data());
      double worst = 0;
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t s = 0; s < m; ++s) {
          double sum = 0;
          for (int64_t k = 0; k < n; ++k) sum += a[i * n + k] * x[k * m + s];
          worst = std::max(worst, std::abs(sum - b[i * m + s]));
        }
      }
      EXPECT_LT(worst, 1e-11) << n << " " << m;
    }
  }
}

TEST(CholeskyTest, AMatrixThatIsNotPositiveIsRefused) {
  std::vector<double> a = Positive(120);
  a[110 * 120 + 110] = -1;
  EXPECT_FALSE(FactorCholesky(120, a.data()));
  double not_a_number = std::nan("");
  EXPECT_FALSE(FactorCholesky(1, &not_a_number));
}

}  // namespace
}  // namespace rutile
