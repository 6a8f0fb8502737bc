#include "lib/descriptor/moment_basis.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace rutile {
namespace {

struct Functions {
  std::vector<double> value, slope;
};

Functions At(const MomentOptions& options, double r) {
  Functions out = {std::vector<double>(options.num_radial), std::vector<double>(options.num_radial)};
  RadialFunctions(options, r, absl::MakeSpan(out.value), absl::MakeSpan(out.slope));
  return out;
}

MomentOptions Options(RadialBasis basis, int p = 5) {
  MomentOptions options;
  options.species = {1};
  options.cutoff = 4.5;
  options.num_radial = 12;
  options.basis = basis;
  options.envelope = p;
  return options;
}

// f is the polynomial of degree p + 2 with f = 1 + O(x^p) and a triple zero at 1: (1 - x)^3 times the first p terms of
// the series of (1 - x)^-3.
TEST(MomentBasisTest, EnvelopeEqualsItsFactors) {
  for (int p = 1; p <= 16; ++p) {
    for (const double x : {0.0, 0.1, 0.5, 0.9, 0.99, 1.0, 1.3}) {
      double series = 0;
      for (int k = 0; k < p; ++k) series += (k + 1) * (k + 2) / 2 * std::pow(x, k);
      const double expected = x < 1 ? std::pow(1 - x, 3) * series : 0;
      // The sum of powers cancels, from terms of up to p (p + 2).
      EXPECT_NEAR(PolynomialEnvelope(x, p), expected, 1e-15 * p * (p + 2)) << p << ' ' << x;
    }
  }
}

TEST(MomentBasisTest, EnvelopeAndItsSlopesVanishAtTheCutoff) {
  for (const int p : {1, 5, 6, 16}) {
    EXPECT_EQ(PolynomialEnvelope(0, p), 1);
    // With f''' of 6 (number of terms)^3 at most, f'' h^2, f' h and f are of the order of h^3.
    for (const double h : {1e-2, 1e-3}) {
      EXPECT_LT(std::abs(PolynomialEnvelope(1 - h, p)), p * (p + 1) * (p + 2) * h * h * h);
      EXPECT_LT(std::abs(PolynomialEnvelopeSlope(1 - h, p)), p * (p + 1) * (p + 2) * h * h);
    }
    EXPECT_EQ(PolynomialEnvelope(1, p), 0);
    EXPECT_EQ(PolynomialEnvelopeSlope(1, p), 0);
    EXPECT_EQ(PolynomialEnvelopeSlope(2, p), 0);
  }
}

TEST(MomentBasisTest, ClosedForms) {
  const double r = 1.7, f = PolynomialEnvelope(1.7 / 4.5, 5);
  const Functions bessel = At(Options(RadialBasis::kBessel), r), chebyshev = At(Options(RadialBasis::kChebyshev), r);
  for (int n = 0; n < 12; ++n) {
    EXPECT_NEAR(bessel.value[n], std::sqrt(2 / 4.5) * std::sin((n + 1) * M_PI * r / 4.5) / r * f, 1e-14) << n;
    EXPECT_NEAR(chebyshev.value[n], std::cos(n * std::acos(2 * r / 4.5 - 1)) * f, 1e-13) << n;
  }
}

// Bessel functions are orthonormal on a ball: the integral of b_n b_m r^2 dr is 1 for n = m, else 0. An envelope of
// high order is not 1 over the ball, so it is divided out.
TEST(MomentBasisTest, BesselFunctionsAreOrthonormal) {
  const MomentOptions options = Options(RadialBasis::kBessel, 16);
  constexpr int kPoints = 64;  // the rule of midpoints is exact for these cosines
  std::vector<double> sums(144);
  for (int k = 0; k < kPoints; ++k) {
    const double r = (k + 0.5) * options.cutoff / kPoints, f = PolynomialEnvelope(r / options.cutoff, 16);
    const Functions b = At(options, r);
    for (int n = 0; n < 12; ++n) {
      for (int m = 0; m < 12; ++m) {
        sums[12 * n + m] += b.value[n] * b.value[m] / (f * f) * r * r * options.cutoff / kPoints;
      }
    }
  }
  // f is known to 1e-14 and 2e-4 at the last point.
  for (int n = 0; n < 12; ++n) {
    for (int m = 0; m < 12; ++m) EXPECT_NEAR(sums[12 * n + m], n == m, 1e-9) << n << ' ' << m;
  }
}

TEST(MomentBasisTest, SlopesEqualFiniteDifferences) {
  constexpr double kStep = 1e-3;
  for (const RadialBasis basis : {RadialBasis::kBessel, RadialBasis::kChebyshev}) {
    for (const int p : {1, 5, 9}) {
      const MomentOptions options = Options(basis, p);
      for (const double r : {0.3, 0.9, 2.0, 3.3, 4.49}) {
        const Functions at = At(options, r);
        const auto m2 = At(options, r - 2 * kStep).value, m1 = At(options, r - kStep).value;
        const auto p1 = At(options, r + kStep).value, p2 = At(options, r + 2 * kStep).value;
        for (int n = 0; n < options.num_radial; ++n) {
          // The error is h^4 / 30 times the fifth derivative, which is (12 pi / R)^5 / r = 1e5 at most.
          EXPECT_NEAR(at.slope[n], (m2[n] - p2[n] + 8 * (p1[n] - m1[n])) / (12 * kStep), 3e-8) << n << ' ' << r;
        }
      }
    }
  }
}

TEST(MomentBasisTest, NothingIsLeftAtTheCutoff) {
  for (const RadialBasis basis : {RadialBasis::kBessel, RadialBasis::kChebyshev}) {
    const Functions at = At(Options(basis), 4.5);
    for (int n = 0; n < 12; ++n) {
      EXPECT_EQ(at.value[n], 0);
      EXPECT_EQ(at.slope[n], 0);
    }
  }
}

TEST(MomentBasisDeathTest, RefusesShapes) {
  std::vector<double> value(12), slope(11);
  EXPECT_DEATH(RadialFunctions(Options(RadialBasis::kBessel), 1, absl::MakeSpan(value), absl::MakeSpan(slope)),
               "11 vs. 12");
}

}  // namespace
}  // namespace rutile
