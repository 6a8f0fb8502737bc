#include "lib/mace/fast_harmonics.h"

#include "lib/base/logging.h"
#include "lib/descriptor/moment_harmonics.h"

namespace rutile {

FastHarmonics::FastHarmonics(int max_l) : max_l_(max_l) {
  CHECK(max_l >= 0 && max_l <= kLargestL) << max_l;
  for (int l = 0; l <= kLargestL; ++l) {
    for (int m = 0; m <= l; ++m) norm_[l][m] = HarmonicNorm(l, m);
  }
}

void FastHarmonics::Compute(const double* unit, double* value, double* gradient) const {
  const double x = unit[0], y = unit[1], z = unit[2];
  // legendre[m][l] is the m-th derivative of the Legendre polynomial P_l at y; re + i im is (z + ix)^m.
  double legendre[kLargestL + 2][kLargestL + 1] = {};
  double re[kLargestL + 1] = {1}, im[kLargestL + 1] = {};
  double diagonal = 1;  // (2m - 1)!!
  for (int m = 0; m <= max_l_; ++m) {
    if (m > 0) {
      diagonal *= 2 * m - 1;
      re[m] = re[m - 1] * z - im[m - 1] * x;
      im[m] = re[m - 1] * x + im[m - 1] * z;
    }
    legendre[m][m] = diagonal;
    for (int l = m + 1; l <= max_l_; ++l) {
      const double before = l > m + 1 ? legendre[m][l - 2] : 0;
      legendre[m][l] = ((2 * l - 1) * y * legendre[m][l - 1] - (l + m - 1) * before) / (l - m);
    }
  }
  for (int l = 0; l <= max_l_; ++l) {
    for (int m = 0; m <= l; ++m) {
      const double p = norm_[l][m] * legendre[m][l], slope = norm_[l][m] * legendre[m + 1][l];
      // d (z + ix)^m = m (z + ix)^(m - 1) (dz + i dx).
      const double re_before = m == 0 ? 0 : m * re[m - 1], im_before = m == 0 ? 0 : m * im[m - 1];
      for (int sine = 0; sine <= (m > 0 ? 1 : 0); ++sine) {
        const int at = l * l + l + (sine == 1 ? -m : m);
        const double part = sine == 1 ? im[m] : re[m];
        value[at] = p * part;
        if (gradient == nullptr) continue;
        const double dx = p * (sine == 1 ? re_before : -im_before), dy = slope * part;
        const double dz = p * (sine == 1 ? im_before : re_before);
        const double along = dx * x + dy * y + dz * z;
        gradient[3 * at] = dx - along * x;
        gradient[3 * at + 1] = dy - along * y;
        gradient[3 * at + 2] = dz - along * z;
      }
    }
  }
}

}  // namespace rutile
