#include "lib/descriptor/kernels/chebyshev_tables.h"

#include <cmath>
#include <limits>

#include "lib/base/logging.h"

namespace rutile {
namespace {

constexpr int kWidestVector = 16;  // floats in an AVX-512 register

long double Factorial(int n) {
  long double product = 1;
  for (int i = 2; i <= n; ++i) product *= i;
  return product;
}

}  // namespace

std::vector<double> ChebyshevInLegendre(int order) {
  // Applies T_{n+1} = 2 x T_n - T_{n-1} to the coefficients, with x P_l = ((l + 1) P_{l+1} + l P_{l-1}) / (2l + 1).
  const int size = order + 1;
  std::vector<long double> t(size * size, 0);
  t[0] = 1;
  if (order > 0) t[size + 1] = 1;
  for (int n = 1; n < order; ++n) {
    long double* const next = &t[(n + 1) * size];
    for (int l = 0; l <= n; ++l) {
      const long double x = 2 * t[n * size + l] / (2 * l + 1);
      next[l + 1] += x * (l + 1);
      if (l > 0) next[l - 1] += x * l;
      next[l] -= t[(n - 1) * size + l];
    }
  }
  return std::vector<double>(t.begin(), t.end());
}

double HarmonicWeight(int l, int m) {
  // The m-th derivative of P_l has the leading coefficient (2l)! / (2^l l! (l - m)!), and q_lm has 2^(l - m).
  const long double leading = Factorial(2 * l) / (std::ldexp(Factorial(l) * Factorial(l - m), l));
  const long double scale = std::ldexp(leading, m - l);
  return static_cast<double>((m == 0 ? 1 : 2) * Factorial(l - m) / Factorial(l + m) * scale * scale);
}

double LargestSquare(double r) {
  double square = r * r;
  while (std::sqrt(square) > r) square = std::nextafter(square, 0.0);
  for (double next; std::sqrt(next = std::nextafter(square, std::numeric_limits<double>::infinity())) <= r;) {
    square = next;
  }
  return square;
}

template <typename T>
ChebyshevTables<T>::ChebyshevTables(const ChebyshevOptions& options, AngularMethod method)
    : rad_order(options.rad_order),
      ang_order(options.ang_order),
      method(method),
      num_features(options.num_features()),
      min_square(LargestSquare(options.min_cutoff)),
      rad_square(LargestSquare(options.rad_cutoff)),
      ang_square(LargestSquare(options.ang_cutoff)),
      rad_scale(4 / options.rad_cutoff),
      rad_inverse_square(1 / (options.rad_cutoff * options.rad_cutoff)),
      ang_inverse_square(1 / (options.ang_cutoff * options.ang_cutoff)),
      rad_padding(4 * options.rad_cutoff * options.rad_cutoff),
      ang_padding(2 * options.ang_cutoff),
      lane_padding(2 * options.cutoff()),
      num_harmonics((ang_order + 1) * (ang_order + 1)),
      angular_stride((ang_order + kWidestVector) / kWidestVector * kWidestVector),
      angular(static_cast<size_t>(num_harmonics) * angular_stride),
      recurrence(num_harmonics) {
  CHECK(options.Validate().ok()) << options.Validate();
  for (const double spin : options.TypeSpins()) spins.push_back(spin);
  const std::vector<double> in_legendre = ChebyshevInLegendre(ang_order);
  legendre.assign(in_legendre.begin(), in_legendre.end());
  int b = 0;
  for (int m = 0; m <= ang_order; ++m) {
    for (int part = 0; part < (m == 0 ? 1 : 2); ++part) {
      for (int l = m; l <= ang_order; ++l, ++b) {
        const double half = HarmonicWeight(l, m) / 2;
        weight.push_back(half);
        for (int n = l; n <= ang_order; ++n) {
          angular[b * angular_stride + n] = half * in_legendre[n * (ang_order + 1) + l];
        }
      }
    }
    for (int l = m; l <= ang_order; ++l) recurrence[m * (ang_order + 1) + l] = HarmonicRecurrence(l, m);
  }
}

template struct ChebyshevTables<double>;
template struct ChebyshevTables<float>;

}  // namespace rutile
