#include "lib/descriptor/moment_harmonics.h"

#include <array>
#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "lib/base/random.h"

namespace rutile {
namespace {

constexpr int kMaxL = 6;

struct Harmonics {
  std::vector<double> value, gradient;
};

Harmonics At(std::array<double, 3> v, int max_l = kMaxL) {
  const double length = std::hypot(v[0], v[1], v[2]);
  for (double& c : v) c /= length;
  Harmonics out;
  out.value.assign((max_l + 1) * (max_l + 1), NAN);
  out.gradient.assign(3 * out.value.size(), NAN);
  RealHarmonics(max_l, v, absl::MakeSpan(out.value), absl::MakeSpan(out.gradient));
  return out;
}

// Directions at random, on the axes (the polar one has the pole of angles) and in the planes between.
std::vector<std::array<double, 3>> Directions() {
  std::vector<std::array<double, 3>> all = {{1, 0, 0},  {0, 1, 0}, {0, 0, 1}, {0, -1, 0}, {-1, 0, 0},
                                            {0, 0, -1}, {1, 1, 0}, {0, 1, 1}, {1, 0, -1}};
  RandomStream random(1, "directions");
  for (int k = 0; k < 20; ++k) all.push_back({random.Uniform(-1, 1), random.Uniform(-1, 1), random.Uniform(-1, 1)});
  return all;
}

// The values are those of e3nn 0.4.4: o3.spherical_harmonics([1, 2, 3], v, normalize=True, normalization="component").
TEST(MomentHarmonicsTest, EqualThoseOfE3nn) {
  const double golden[] = {1,           0.52489066,  -0.87481777, 1.39970842, 0.94848572,  -0.59280357,
                           -0.26239573, -1.58080953, 1.08680655,  1.18364716, -1.26746735, 0.13527282,
                           1.15222321,  0.36072753,  -1.45230634, 0.6381777};
  const Harmonics found = At({0.3, -0.5, 0.8}, 3);
  for (int k = 0; k < 16; ++k) EXPECT_NEAR(found.value[k], golden[k], 6e-9) << k;
}

// Degree 4 from the table of real harmonics (Gorller-Walrand, Binnemans, 1996), with axes renamed (x, y, z) -> (z, x,
// y) and the factor sqrt(4 pi) of the normalization.
TEST(MomentHarmonicsTest, DegreeFourInClosedForm) {
  for (std::array<double, 3> v : Directions()) {
    const Harmonics found = At(v, 4);
    const double length = std::hypot(v[0], v[1], v[2]);
    const double a = v[2] / length, b = v[0] / length, c = v[1] / length;
    const double expected[9] = {1.5 * std::sqrt(35.0) * a * b * (a * a - b * b),
                                1.5 * std::sqrt(35.0 / 2) * b * (3 * a * a - b * b) * c,
                                1.5 * std::sqrt(5.0) * a * b * (7 * c * c - 1),
                                1.5 * std::sqrt(5.0 / 2) * b * (7 * c * c * c - 3 * c),
                                3.0 / 8 * (35 * c * c * c * c - 30 * c * c + 3),
                                1.5 * std::sqrt(5.0 / 2) * a * (7 * c * c * c - 3 * c),
                                0.75 * std::sqrt(5.0) * (a * a - b * b) * (7 * c * c - 1),
                                1.5 * std::sqrt(35.0 / 2) * a * (a * a - 3 * b * b) * c,
                                0.375 * std::sqrt(35.0) * (a * a * (a * a - 3 * b * b) - b * b * (3 * a * a - b * b))};
    for (int k = 0; k < 9; ++k) EXPECT_NEAR(found.value[16 + k], expected[k], 1e-13) << k;
  }
}

TEST(MomentHarmonicsTest, SquaresOfADegreeSumToItsComponents) {
  for (const auto& v : Directions()) {
    const Harmonics found = At(v);
    for (int l = 0; l <= kMaxL; ++l) {
      double squares = 0;
      for (int k = l * l; k < (l + 1) * (l + 1); ++k) squares += found.value[k] * found.value[k];
      EXPECT_NEAR(squares, 2 * l + 1, 1e-12) << l;
    }
  }
}

// The addition theorem: the sum over m of Y_lm(u) Y_lm(v) is (2l + 1) P_l(u . v), for any pair of directions.
TEST(MomentHarmonicsTest, ProductsDependOnTheAngleAlone) {
  const auto directions = Directions();
  for (const auto& u : directions) {
    for (const auto& v : directions) {
      const Harmonics a = At(u), b = At(v);
      const double c =
          (u[0] * v[0] + u[1] * v[1] + u[2] * v[2]) / (std::hypot(u[0], u[1], u[2]) * std::hypot(v[0], v[1], v[2]));
      double before = 0, legendre = 1;
      for (int l = 0; l <= kMaxL; ++l) {
        double sum = 0;
        for (int k = l * l; k < (l + 1) * (l + 1); ++k) sum += a.value[k] * b.value[k];
        EXPECT_NEAR(sum, (2 * l + 1) * legendre, 1e-11) << l;
        const double next = ((2 * l + 1) * c * legendre - l * before) / (l + 1);
        before = legendre;
        legendre = next;
      }
    }
  }
}

TEST(MomentHarmonicsTest, GradientsEqualFiniteDifferences) {
  constexpr double kStep = 1e-3;  // differences of fourth order: the error is of the order of 1e-12 * 6^5
  for (std::array<double, 3> v : Directions()) {
    const double length = std::hypot(v[0], v[1], v[2]);
    for (double& c : v) c /= length;
    const Harmonics found = At(v);
    for (int a = 0; a < 3; ++a) {
      const auto at = [&](double steps) {
        std::array<double, 3> moved = v;
        moved[a] += steps * kStep;
        return At(moved).value;
      };
      const auto m2 = at(-2), m1 = at(-1), p1 = at(1), p2 = at(2);
      for (size_t k = 0; k < m2.size(); ++k) {
        EXPECT_NEAR(found.gradient[3 * k + a], (m2[k] - p2[k] + 8 * (p1[k] - m1[k])) / (12 * kStep), 1e-7) << k;
      }
    }
    for (size_t k = 0; k < found.value.size(); ++k) {
      EXPECT_NEAR(found.gradient[3 * k] * v[0] + found.gradient[3 * k + 1] * v[1] + found.gradient[3 * k + 2] * v[2], 0,
                  1e-12);
    }
  }
}

TEST(MomentHarmonicsDeathTest, RefusesShapes) {
  std::vector<double> value(9), gradient(27);
  EXPECT_DEATH(RealHarmonics(1, {0, 0, 1}, absl::MakeSpan(value), absl::MakeSpan(gradient)), "9 vs. 4");
  EXPECT_DEATH(RealHarmonics(2, {0, 0, 1}, absl::MakeSpan(value), absl::MakeSpan(value)), "9 vs. 27");
}

}  // namespace
}  // namespace rutile
