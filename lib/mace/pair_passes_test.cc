#include "lib/mace/pair_passes.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "hwy/highway.h"
#include "lib/machine/aligned_buffer.h"

namespace rutile {
namespace {

AlignedBuffer<double> Numbers(int64_t size, double phase) {
  AlignedBuffer<double> numbers(size);
  for (int64_t k = 0; k < size; ++k) numbers[k] = std::sin(1.7 * static_cast<double>(k) + phase);
  return numbers;
}

// Every instruction set that the machine has.
class PairPassesTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  void SetUp() override { hwy::SetSupportedTargetsForTest(GetParam()); }
  void TearDown() override { hwy::SetSupportedTargetsForTest(0); }
};

TEST_P(PairPassesTest, Silu) {
  for (const int64_t n : {1, 7, 8, 33}) {
    std::vector<double> x, t, expected, slope;
    for (int64_t k = 0; k < n; ++k) {
      const double v = (k % 2 == 0 ? 1 : -1) * 0.9 * static_cast<double>(k * k) / 8;
      const double logistic = 1 / (1 + std::exp(-v));
      x.push_back(v);
      t.push_back(2);
      expected.push_back(v * logistic);
      slope.push_back(2 * logistic * (1 + v * (1 - logistic)));
    }
    std::vector<double> alone = x;
    SiluInPlace(n, alone.data(), nullptr);
    SiluInPlace(n, x.data(), t.data());
    for (int64_t k = 0; k < n; ++k) {
      EXPECT_EQ(x[k], alone[k]);
      EXPECT_NEAR(x[k], expected[k], 1e-14 * (1 + std::abs(expected[k])));
      EXPECT_NEAR(t[k], slope[k], 1e-14);
    }
  }
}

TEST_P(PairPassesTest, RowsOfSplines) {
  for (const int64_t n : {8, 24, 80}) {
    const AlignedBuffer<double> knots = Numbers(6 * n, 0.4);
    const double weight[6] = {0.5, -2, 0.25, 1, 3, -0.125}, slope_weight[6] = {-1, 4, 0.5, 2, 0, 8};
    std::vector<double> value(n), slope(n), alone(n);
    SplineRow(n, knots.data(), weight, slope_weight, value.data(), slope.data());
    SplineRow(n, knots.data(), weight, slope_weight, alone.data(), nullptr);
    EXPECT_EQ(alone, value);
    for (int64_t f = 0; f < n; ++f) {
      double expected = 0, expected_slope = 0;
      for (int q = 0; q < 6; ++q) {
        expected += weight[q] * knots[q * n + f];
        expected_slope += slope_weight[q] * knots[q * n + f];
      }
      EXPECT_NEAR(value[f], expected, 1e-14);
      EXPECT_NEAR(slope[f], expected_slope, 1e-14);
    }
  }
}

TEST_P(PairPassesTest, SumsAndSlopesOfAPair) {
  for (int max_l = 0; max_l <= 4; ++max_l) {
    for (const int64_t channels : {8, 16, 40}) {
      const int64_t harmonics = (max_l + 1) * (max_l + 1), functions = (max_l + 1) * channels;
      const AlignedBuffer<double> radial = Numbers(functions, 0.1), slope = Numbers(functions, 0.9),
                                  u = Numbers(channels, 2), y = Numbers(harmonics, 3),
                                  abar = Numbers(harmonics * channels, 5);
      AlignedBuffer<double> a = Numbers(harmonics * channels, 4), u_bar = Numbers(channels, 6);
      const AlignedBuffer<double> a_before = Numbers(harmonics * channels, 4), u_before = Numbers(channels, 6);
      std::vector<double> y_bar(harmonics), y_bar_alone(harmonics);
      AddPair(max_l, channels, radial.data(), u.data(), y.data(), a.data());
      const double along = PairSlopes(max_l, channels, radial.data(), slope.data(), u.data(), y.data(), abar.data(),
                                      y_bar.data(), u_bar.data());
      EXPECT_EQ(along, PairSlopes(max_l, channels, radial.data(), slope.data(), u.data(), y.data(), abar.data(),
                                  y_bar_alone.data(), nullptr));
      EXPECT_EQ(y_bar, y_bar_alone);
      double expected_along = 0;
      std::vector<double> expected_u(u_before.data(), u_before.data() + channels);
      for (int l = 0; l <= max_l; ++l) {
        for (int64_t m = l * l; m < (l + 1) * (l + 1); ++m) {
          double expected = 0;
          for (int64_t k = 0; k < channels; ++k) {
            const double r = radial[l * channels + k], bar = abar[m * channels + k];
            EXPECT_NEAR(a[m * channels + k], a_before[m * channels + k] + r * u[k] * y[m], 1e-14);
            expected += r * u[k] * bar;
            expected_along += slope[l * channels + k] * u[k] * bar * y[m];
            expected_u[k] += r * bar * y[m];
          }
          EXPECT_NEAR(y_bar[m], expected, 1e-13);
        }
      }
      EXPECT_NEAR(along, expected_along, 1e-12);
      for (int64_t k = 0; k < channels; ++k) EXPECT_NEAR(u_bar[k], expected_u[k], 1e-13);
    }
  }
}

std::vector<uint32_t> Targets() {
  std::vector<uint32_t> targets;
  for (uint32_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) targets.push_back(left & (~left + 1));
  return targets;
}

INSTANTIATE_TEST_SUITE_P(Targets, PairPassesTest, ::testing::ValuesIn(Targets()));

}  // namespace
}  // namespace rutile
