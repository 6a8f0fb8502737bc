// Real spherical harmonics in the basis of this package.

#ifndef RUTILE_LIB_MANY_BODY_HARMONICS_H_
#define RUTILE_LIB_MANY_BODY_HARMONICS_H_

namespace rutile {

// Computes the real spherical harmonics of degrees 0 to max_l at the unit vector u = (x, y, z), normalized so that the
// squares of a degree add up to 2 l + 1 ("component" normalization of e3nn). The polar axis is y, as in e3nn: degree 1
// is sqrt(3) (x, y, z). harmonics: [(max_l + 1)^2], overwritten; that of l and m is at l * l + l + m.
//
//   Y_lm = sqrt(2 l + 1) sqrt((l - m)! / (l + m)!) P_l^(m)(y) {1, sqrt(2) Re (z + i x)^m, sqrt(2) Im (z + i x)^|m|}
//
// with the m-th derivative of the Legendre polynomial, for m = 0, m > 0, m < 0 (no Condon-Shortley phase).
void EvaluateHarmonics(int max_l, const double* u, double* harmonics);

}  // namespace rutile

#endif  // RUTILE_LIB_MANY_BODY_HARMONICS_H_
