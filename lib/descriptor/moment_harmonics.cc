#include "lib/descriptor/moment_harmonics.h"

#include <cmath>
#include <complex>
#include <cstdlib>
#include <vector>

#include "lib/base/logging.h"

namespace rutile {
namespace {

// Returns P_l^(m)(y): (l - m) P_l^(m) = (2l - 1) y P_{l-1}^(m) - (l + m - 1) P_{l-2}^(m), from P_m^(m) = (2m - 1)!!.
double LegendreDerivative(int l, int m, double y) {
  if (m > l) return 0;
  double before = 0, value = 1;
  for (int k = 2 * m - 1; k > 1; k -= 2) value *= k;
  for (int k = m + 1; k <= l; ++k) {
    const double next = ((2 * k - 1) * y * value - (k + m - 1) * before) / (k - m);
    before = value;
    value = next;
  }
  return value;
}

}  // namespace

double HarmonicNorm(int l, int m) {
  m = std::abs(m);
  double square = m == 0 ? 2 * l + 1 : 2 * (2 * l + 1);
  for (int k = l - m + 1; k <= l + m; ++k) square /= k;
  return std::sqrt(square);
}

void RealHarmonics(int max_l, absl::Span<const double> unit, absl::Span<double> value, absl::Span<double> gradient) {
  CHECK_EQ(unit.size(), 3);
  CHECK_EQ(value.size(), (max_l + 1) * (max_l + 1));
  if (!gradient.empty()) CHECK_EQ(gradient.size(), 3 * value.size());
  const double x = unit[0], y = unit[1], z = unit[2];
  std::vector<std::complex<double>> power = {1};  // (z + ix)^m
  for (int m = 1; m <= max_l; ++m) power.push_back(power.back() * std::complex<double>(z, x));
  for (int l = 0; l <= max_l; ++l) {
    for (int m = -l; m <= l; ++m) {
      const int k = std::abs(m), at = l * l + l + m;
      // Re of (a + ib) w, for w = 1 or -i, is a or b.
      const std::complex<double> w = m < 0 ? std::complex<double>(0, -1) : 1;
      const double norm = HarmonicNorm(l, m), p = norm * LegendreDerivative(l, k, y);
      value[at] = p * (w * power[k]).real();
      if (gradient.empty()) continue;
      const std::complex<double> slope = k == 0 ? 0 : static_cast<double>(k) * power[k - 1];
      const double plain[3] = {p * (w * std::complex<double>(0, 1) * slope).real(),
                               norm * LegendreDerivative(l, k + 1, y) * (w * power[k]).real(), p * (w * slope).real()};
      const double along = plain[0] * x + plain[1] * y + plain[2] * z;
      for (int a = 0; a < 3; ++a) gradient[3 * at + a] = plain[a] - along * unit[a];
    }
  }
}

}  // namespace rutile
