#include "lib/many_body/product_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "lib/base/logging.h"
#include "lib/descriptor/moment_harmonics.h"

namespace rutile {
namespace {

constexpr double kPi = 3.14159265358979323846;

// A quadrature over cos(theta) that integrates polynomials of degree 2 n - 1 exactly (Gauss and Legendre), by Newton's
// method for the zeros of P_n.
struct GaussPoints {
  explicit GaussPoints(int n) {
    for (int i = 0; i < n; ++i) {
      double y = std::cos(kPi * (i + 0.75) / (n + 0.5)), slope = 0;
      for (int iteration = 0; iteration < 100; ++iteration) {
        double before = 0, p = 1;
        for (int l = 1; l <= n; ++l) before = std::exchange(p, ((2 * l - 1) * y * p - (l - 1) * before) / l);
        slope = n * (y * p - before) / (y * y - 1);
        const double step = p / slope;
        y -= step;
        if (std::abs(step) < 1e-16) break;
      }
      points.push_back(y);
      weights.push_back(2 / ((1 - y * y) * slope * slope));
    }
  }
  std::vector<double> points, weights;
};

int Width(int l) { return 2 * l + 1; }

}  // namespace

std::vector<CubicProduct> CubicProducts(int max_l) {
  std::vector<CubicProduct> products;
  for (int l1 = 0; l1 <= max_l; ++l1) {
    for (int l2 = l1; l2 <= max_l; ++l2) {
      for (int l3 = l2; l3 <= std::min(max_l, l1 + l2); ++l3) {
        if ((l1 + l2 + l3) % 2 == 0) products.push_back({l1, l2, l3});
      }
    }
  }
  return products;
}

std::vector<double> CubicWeights(const CubicProduct& product) {
  const auto [l1, l2, l3] = product;
  const int max_l = std::max({l1, l2, l3}), degree = l1 + l2 + l3;
  // The integrand is a polynomial of this degree in u, so that degree + 1 equidistant angles are enough.
  const GaussPoints polar(degree / 2 + 1);
  const int num_angles = degree + 1;
  std::vector<double> weights(Width(l1) * Width(l2) * Width(l3), 0.0), y((max_l + 1) * (max_l + 1));
  for (size_t p = 0; p < polar.points.size(); ++p) {
    const double along = polar.points[p], across = std::sqrt(1 - along * along);
    for (int k = 0; k < num_angles; ++k) {
      const double angle = 2 * kPi * (k + 0.3) / num_angles;
      const double u[3] = {across * std::sin(angle), along, across * std::cos(angle)};
      RealHarmonics(max_l, u, absl::MakeSpan(y), {});
      double* out = weights.data();
      for (int a = l1 * l1; a < (l1 + 1) * (l1 + 1); ++a) {
        for (int b = l2 * l2; b < (l2 + 1) * (l2 + 1); ++b) {
          for (int c = l3 * l3; c < (l3 + 1) * (l3 + 1); ++c) *out++ += polar.weights[p] * y[a] * y[b] * y[c];
        }
      }
    }
  }
  double square = 0;
  for (const double w : weights) square += w * w;
  CHECK_GT(square, 0) << l1 << " " << l2 << " " << l3;
  const double norm = std::sqrt(square);
  for (double& w : weights) {
    w /= norm;
    if (std::abs(w) < 1e-13) w = 0;  // components that vanish are 1e-16 to 1e-15, the others 0.01 or more
  }
  return weights;
}

template <typename T>
ProductTable<T>::ProductTable(int max_l, int64_t stride) : max_l(max_l) {
  for (const CubicProduct& product : CubicProducts(max_l)) {
    const auto [l1, l2, l3] = product;
    const std::vector<double> weights = CubicWeights(product);
    // derivative[a][{i, j}] is the coefficient of A_i A_j, i <= j, in the derivative by A_a.
    std::map<int, std::map<std::pair<int, int>, double>> derivative;
    const double* w = weights.data();
    for (int a = l1 * l1; a < (l1 + 1) * (l1 + 1); ++a) {
      for (int b = l2 * l2; b < (l2 + 1) * (l2 + 1); ++b) {
        for (int c = l3 * l3; c < (l3 + 1) * (l3 + 1); ++c, ++w) {
          if (*w == 0) continue;
          derivative[a][std::minmax(b, c)] += *w;
          derivative[b][std::minmax(a, c)] += *w;
          derivative[c][std::minmax(a, b)] += *w;
        }
      }
    }
    // The sum of A_a derivative_a over the components of one l counts the product as often as l occurs in it.
    const std::array<int, 3> all = {l1, l2, l3};
    const auto occurrences = [&](int l) { return static_cast<int>(std::count(all.begin(), all.end(), l)); };
    const int value_l = *std::min_element(all.begin(), all.end(), [&](int a, int b) {
      return std::make_pair(occurrences(a), a) < std::make_pair(occurrences(b), b);
    });
    Product range = {static_cast<int32_t>(groups.size()), 0};
    for (const auto& [a, of_a] : derivative) {
      const bool needed = a >= value_l * value_l && a < (value_l + 1) * (value_l + 1);
      Group group = {static_cast<int32_t>(a * stride), static_cast<int32_t>(terms.size()), 0,
                     needed ? T(1.0 / occurrences(value_l)) : T(0)};
      for (const auto& [pair, weight] : of_a) {
        if (std::abs(weight) < 1e-13) continue;
        terms.push_back({static_cast<int32_t>(pair.first * stride), static_cast<int32_t>(pair.second * stride),
                         static_cast<T>(weight)});
      }
      group.end = static_cast<int32_t>(terms.size());
      if (group.end > group.begin) groups.push_back(group);
    }
    range.end = static_cast<int32_t>(groups.size());
    products.push_back(range);
  }
}

template struct ProductTable<float>;
template struct ProductTable<double>;

}  // namespace rutile
