#include "lib/descriptor/kernels/chebyshev_tables.h"

#include <cmath>
#include <complex>
#include <vector>

#include "gtest/gtest.h"

namespace rutile {
namespace {

TEST(ChebyshevTablesTest, ChebyshevInLegendre) {
  const std::vector<double> t = ChebyshevInLegendre(32);
  EXPECT_DOUBLE_EQ(t[2 * 33 + 0], -1.0 / 3);  // T_2 = 2x^2 - 1 = (4 P_2 - 1) / 3
  EXPECT_DOUBLE_EQ(t[2 * 33 + 2], 4.0 / 3);
  for (const double x : {-1.0, -0.73, 0.0, 0.2, 0.999, 1.0}) {
    for (int n = 0; n <= 32; ++n) {
      double sum = 0;
      for (int l = 0; l <= 32; ++l) sum += t[n * 33 + l] * std::legendre(l, x);
      EXPECT_NEAR(sum, std::cos(n * std::acos(x)), 1e-13) << n << " " << x;
    }
  }
}

// Computes B_lm of one unit vector by the recurrence of the header.
std::vector<double> Harmonics(double x, double y, double z, int order) {
  std::vector<double> values;
  for (int m = 0; m <= order; ++m) {
    const std::complex<double> power = std::pow(std::complex<double>(x, y), m);
    for (int part = 0; part < (m == 0 ? 1 : 2); ++part) {
      double previous = 0, current = 1;
      for (int l = m; l <= order; ++l) {
        values.push_back(current * (part == 0 ? power.real() : power.imag()));
        const double next = 2 * z * current - HarmonicRecurrence(l, m) * previous;
        previous = current;
        current = next;
      }
    }
  }
  return values;
}

TEST(ChebyshevTablesTest, AdditionTheorem) {
  const double u[3] = {0.36, -0.48, 0.8}, v[3] = {-0.64, 0.48, 0.6};
  const double cosine = u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
  for (const int order : {0, 1, 2, 4, 9, 16, 32}) {
    ChebyshevOptions options;
    options.species = {6};
    options.ang_order = order;
    const ChebyshevTables<double> tables(options, AngularMethod::kMoments);
    const std::vector<double> a = Harmonics(u[0], u[1], u[2], order), b = Harmonics(v[0], v[1], v[2], order);
    ASSERT_EQ(a.size(), tables.num_harmonics);
    for (int n = 0; n <= order; ++n) {
      double sum = 0;
      for (int k = 0; k < tables.num_harmonics; ++k) {
        sum += 2 * tables.angular[k * tables.angular_stride + n] * a[k] * b[k];
      }
      EXPECT_NEAR(sum, std::cos(n * std::acos(cosine)), 1e-13) << order << " " << n;
    }
  }
}

TEST(ChebyshevTablesTest, LargestSquareIsTheExactLimit) {
  for (const double r : {0.55, 1.0, 3.3, 6.5, 20.0, 0.1 + 0.2}) {
    const double square = LargestSquare(r);
    EXPECT_LE(std::sqrt(square), r);
    EXPECT_GT(std::sqrt(std::nextafter(square, 1e9)), r);
  }
  EXPECT_EQ(LargestSquare(0), 0);
}

TEST(ChebyshevTablesDeathTest, RefusesBadOptions) {
  EXPECT_DEATH(ChebyshevTables<float>(ChebyshevOptions(), AngularMethod::kMoments), "--species is empty");
}

}  // namespace
}  // namespace rutile
