// The radial functions of moments by their definition: a basis times an envelope that vanishes smoothly at the cutoff.
//
//   envelope   f(x) = 1 - (p+1)(p+2)/2 x^p + p(p+2) x^(p+1) - p(p+1)/2 x^(p+2),   x = r / R
//   Bessel     phi_n = sqrt(2/R) sin(n pi r/R) / r f,     n = 1 .. N, in 1/Angstrom^(3/2)
//   Chebyshev  phi_n = T_n(2 r/R - 1) f,                  n = 0 .. N - 1
//
// f, f' and f'' vanish at R. Source: J. Gasteiger (Klicpera), J. Gross, S. Guennemann, ICLR 2020 (arXiv:2003.03123),
// eqs. 7 and 8; there p is our p + 1, as the function is divided by r.

#ifndef RUTILE_LIB_DESCRIPTOR_MOMENT_BASIS_H_
#define RUTILE_LIB_DESCRIPTOR_MOMENT_BASIS_H_

#include "absl/types/span.h"
#include "lib/descriptor/moment_options.h"

namespace rutile {

// Returns f(x) for x >= 0, and 0 beyond 1.
double PolynomialEnvelope(double x, int p);
// Returns df/dx.
double PolynomialEnvelopeSlope(double x, int p);

// Computes phi_n(r) and its derivative by r for r > 0 in Angstrom. value, slope: [N], overwritten. CHECK-fails when
// lengths disagree.
void RadialFunctions(const MomentOptions& options, double r, absl::Span<double> value, absl::Span<double> slope);

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_MOMENT_BASIS_H_
