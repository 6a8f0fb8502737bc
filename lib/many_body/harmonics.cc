#include "lib/many_body/harmonics.h"

#include <cmath>
#include <vector>

#include "lib/base/logging.h"

namespace rutile {

void EvaluateHarmonics(int max_l, const double* u, double* harmonics) {
  CHECK_GE(max_l, 0);
  const double x = u[0], y = u[1], z = u[2];
  double re = 1, im = 0;     // (z + i x)^m
  double diagonal = 1;       // the m-th derivative of P_m: (2 m - 1)!!
  double root_of_ratio = 1;  // sqrt(1 / (2 m)!), for l = m
  for (int m = 0; m <= max_l; ++m) {
    if (m > 0) {
      const double next = re * z - im * x;
      im = re * x + im * z;
      re = next;
      diagonal *= 2 * m - 1;
      root_of_ratio /= std::sqrt(2.0 * m * (2 * m - 1));
    }
    // (l - m) P_l = (2 l - 1) y P_(l-1) - (l + m - 1) P_(l-2), for the m-th derivatives.
    double before = 0, derivative = diagonal, root = root_of_ratio;
    for (int l = m; l <= max_l; ++l) {
      if (l > m) {
        const double next = ((2 * l - 1) * y * derivative - (l + m - 1) * before) / (l - m);
        before = derivative;
        derivative = next;
        root *= std::sqrt(static_cast<double>(l - m) / (l + m));
      }
      const double value = std::sqrt(2.0 * l + 1) * root * derivative;
      double* const of_l = harmonics + l * l + l;
      if (m == 0) {
        of_l[0] = value;
      } else {
        of_l[m] = std::sqrt(2.0) * value * re;
        of_l[-m] = std::sqrt(2.0) * value * im;
      }
    }
  }
}

}  // namespace rutile
