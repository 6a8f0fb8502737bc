// Golden values are of e3nn 0.4.4 (harmonics, 3j symbols up to their sign); the table is compared with plain sums.

#include "lib/many_body/product_table.h"

#include <cmath>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/descriptor/moment_harmonics.h"

namespace rutile {
namespace {

TEST(RealHarmonicsTest, EqualsE3nn) {
  const double norm = std::sqrt(0.3 * 0.3 + 0.5 * 0.5 + 0.8 * 0.8);
  const double u[3] = {0.3 / norm, -0.5 / norm, 0.8 / norm};
  double y[16];
  RealHarmonics(3, u, absl::MakeSpan(y), {});
  const double expected[16] = {1,           0.52489066,  -0.87481777, 1.39970842, 0.94848572,  -0.59280357,
                               -0.26239573, -1.58080953, 1.08680655,  1.18364716, -1.26746735, 0.13527282,
                               1.15222321,  0.36072753,  -1.45230634, 0.6381777};
  for (int i = 0; i < 16; ++i) EXPECT_NEAR(y[i], expected[i], 1e-8) << i;
}

TEST(RealHarmonicsTest, SquaresOfADegreeAddUpAtThePoles) {
  for (const double y : {-1.0, 0.0, 1.0}) {
    const double u[3] = {0, y, std::sqrt(1 - y * y)};
    double harmonics[25];
    RealHarmonics(4, u, absl::MakeSpan(harmonics), {});
    for (int l = 0; l <= 4; ++l) {
      double sum = 0;
      for (int i = l * l; i < (l + 1) * (l + 1); ++i) sum += harmonics[i] * harmonics[i];
      EXPECT_NEAR(sum, 2 * l + 1, 1e-13);
    }
  }
}

TEST(CubicWeightsTest, WithAScalarIsTheScalarProduct) {
  for (int l = 0; l <= 4; ++l) {
    const std::vector<double> w = CubicWeights({0, l, l});
    const int width = 2 * l + 1;
    for (int i = 0; i < width; ++i) {
      for (int j = 0; j < width; ++j) EXPECT_NEAR(w[i * width + j], i == j ? 1 / std::sqrt(width) : 0, 1e-14);
    }
  }
}

TEST(CubicWeightsTest, EqualsE3nn) {
  const std::vector<double> w = CubicWeights({1, 1, 2});
  // The components of degree 2 are, but for factors, xz, xy, 2 y^2 - x^2 - z^2, yz and z^2 - x^2.
  const auto at = [&](int a, int b, int c) { return w[(a * 3 + b) * 5 + c]; };
  EXPECT_NEAR(at(0, 2, 0), 1 / std::sqrt(10), 1e-14);
  EXPECT_NEAR(at(1, 0, 1), 1 / std::sqrt(10), 1e-14);
  EXPECT_NEAR(at(0, 0, 2), -1 / std::sqrt(30), 1e-14);
  EXPECT_NEAR(at(1, 1, 2), 2 / std::sqrt(30), 1e-14);
  EXPECT_NEAR(at(2, 2, 2), -1 / std::sqrt(30), 1e-14);
  EXPECT_NEAR(at(2, 2, 4), 1 / std::sqrt(10), 1e-14);
  EXPECT_EQ(at(0, 0, 0), 0);
}

// The numbers of monomials are those of all cubic invariants: 25, 77 and 238 for max_l = 2, 3, 4.
TEST(ProductTableTest, HasAllMonomialsOnce) {
  for (const auto& [max_l, expected] : {std::pair(2, 25), {3, 77}, {4, 238}}) {
    int monomials = 0;
    for (const CubicProduct& p : CubicProducts(max_l)) {
      const std::vector<double> w = CubicWeights(p);
      const double* at = w.data();
      for (int a = p.l1 * p.l1; a < (p.l1 + 1) * (p.l1 + 1); ++a) {
        for (int b = p.l2 * p.l2; b < (p.l2 + 1) * (p.l2 + 1); ++b) {
          for (int c = p.l3 * p.l3; c < (p.l3 + 1) * (p.l3 + 1); ++c, ++at) monomials += *at != 0 && a <= b && b <= c;
        }
      }
    }
    EXPECT_EQ(monomials, expected) << max_l;
  }
}

TEST(ProductTableTest, DerivativesAndValuesAgreeWithPlainSums) {
  for (int max_l = 0; max_l <= 4; ++max_l) {
    constexpr int kStride = 3;
    const ProductTable<double> table(max_l, kStride);
    const int n = (max_l + 1) * (max_l + 1);
    RandomStream random(5, "moments");
    std::vector<double> a(n * kStride);
    for (double& value : a) value = random.Normal();
    const std::vector<CubicProduct> products = CubicProducts(max_l);
    ASSERT_EQ(table.products.size(), products.size());
    for (size_t p = 0; p < products.size(); ++p) {
      const auto [l1, l2, l3] = products[p];
      const std::vector<double> weights = CubicWeights(products[p]);
      const double* w = weights.data();
      double value = 0;
      std::vector<double> slopes(n, 0.0);
      for (int i = l1 * l1; i < (l1 + 1) * (l1 + 1); ++i) {
        for (int j = l2 * l2; j < (l2 + 1) * (l2 + 1); ++j) {
          for (int k = l3 * l3; k < (l3 + 1) * (l3 + 1); ++k, ++w) {
            value += *w * a[i * kStride] * a[j * kStride] * a[k * kStride];
            slopes[i] += *w * a[j * kStride] * a[k * kStride];
            slopes[j] += *w * a[i * kStride] * a[k * kStride];
            slopes[k] += *w * a[i * kStride] * a[j * kStride];
          }
        }
      }
      double value_of_table = 0;
      std::vector<double> slopes_of_table(n, 0.0);
      for (int g = table.products[p].begin; g < table.products[p].end; ++g) {
        const auto& group = table.groups[g];
        double sum = 0;
        for (int t = group.begin; t < group.end; ++t) {
          sum += table.terms[t].weight * a[table.terms[t].i] * a[table.terms[t].j];
        }
        slopes_of_table[group.a / kStride] += sum;
        value_of_table += group.value_scale * a[group.a] * sum;
      }
      EXPECT_NEAR(value_of_table, value, 1e-12) << max_l << " " << l1 << l2 << l3;
      for (int i = 0; i < n; ++i) EXPECT_NEAR(slopes_of_table[i], slopes[i], 1e-12);
    }
  }
}

}  // namespace
}  // namespace rutile
