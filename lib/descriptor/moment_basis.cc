#include "lib/descriptor/moment_basis.h"

#include <cmath>

#include "lib/base/logging.h"

namespace rutile {
namespace {

constexpr double kPi = 3.14159265358979323846;

struct Function {
  double value, slope;
};

Function Bessel(int n, double r, double cutoff) {
  const double k = n * kPi / cutoff, norm = std::sqrt(2 / cutoff);
  return {norm * std::sin(k * r) / r, norm * (k * std::cos(k * r) / r - std::sin(k * r) / (r * r))};
}

// Returns T_n(2 r / R - 1), with T_n' = n U_{n-1}.
Function Chebyshev(int n, double r, double cutoff) {
  const double x = 2 * r / cutoff - 1;
  double t = 1, t_before = x, u = 0, u_before = -1;  // T_0, T_-1, U_-1, U_-2
  for (int k = 0; k < n; ++k) {
    const double t_next = 2 * x * t - t_before, u_next = 2 * x * u - u_before;
    t_before = t;
    t = t_next;
    u_before = u;
    u = u_next;
  }
  return {t, n * u * 2 / cutoff};
}

}  // namespace

double PolynomialEnvelope(double x, int p) {
  if (x >= 1) return 0;
  return 1 - (p + 1) * (p + 2) / 2.0 * std::pow(x, p) + p * (p + 2) * std::pow(x, p + 1) -
         p * (p + 1) / 2.0 * std::pow(x, p + 2);
}

double PolynomialEnvelopeSlope(double x, int p) {
  if (x >= 1) return 0;
  return -p * (p + 1) * (p + 2) / 2.0 * std::pow(x, p - 1) * (1 - x) * (1 - x);
}

void RadialFunctions(const MomentOptions& options, double r, absl::Span<double> value, absl::Span<double> slope) {
  CHECK_EQ(value.size(), options.num_radial);
  CHECK_EQ(slope.size(), options.num_radial);
  const double f = PolynomialEnvelope(r / options.cutoff, options.envelope);
  const double df = PolynomialEnvelopeSlope(r / options.cutoff, options.envelope) / options.cutoff;
  for (int n = 0; n < options.num_radial; ++n) {
    const Function b =
        options.basis == RadialBasis::kBessel ? Bessel(n + 1, r, options.cutoff) : Chebyshev(n, r, options.cutoff);
    value[n] = b.value * f;
    slope[n] = b.slope * f + b.value * df;
  }
}

}  // namespace rutile
