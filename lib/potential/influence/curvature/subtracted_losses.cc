#include "lib/potential/influence/curvature/subtracted_losses.h"

#include <utility>

#include "lib/base/logging.h"
#include "lib/matrix/cholesky.h"
#include "lib/matrix/dense_products.h"
#include "lib/matrix/matrix_view.h"

namespace rutile {

bool SubtractedLosses::Make(std::vector<double> halves, const std::vector<double>& divisor) {
  q_.clear();
  b_.clear();
  const auto n = static_cast<int64_t>(divisor.size());
  if (n == 0) return true;
  const auto size = static_cast<int64_t>(halves.size()) / n;
  std::vector<double> f(n * n);
  const MatrixView<double> rows{halves.data(), n, size, size, false};
  MultiplyDense(rows, rows.Transposed(), /*add=*/false, f.data(), n);
  for (double& each : f) each = -each;
  for (int64_t t = 0; t < n; ++t) f[t * n + t] += divisor[t];
  if (!FactorCholesky(n, f.data())) return false;
  SolveLower(n, f.data(), n, size, halves.data());
  std::vector<double> k(n * n);
  MultiplyDense(rows, rows.Transposed(), /*add=*/false, k.data(), n);
  for (int64_t t = 0; t < n; ++t) k[t * n + t] += 1;
  CHECK(FactorCholesky(n, k.data()));
  for (int64_t t = 0; t < n; ++t) k[t * n + t] += 1;
  q_ = std::move(halves);
  b_ = std::move(k);
  return true;
}

void SubtractedLosses::Apply(int64_t count, double* vectors, bool transposed) const {
  if (b_.empty()) return;
  int64_t n = 1;
  while (n * n < static_cast<int64_t>(b_.size())) ++n;
  const auto size = static_cast<int64_t>(q_.size()) / n;
  std::vector<double> sides(n * count);
  const MatrixView<double> q{q_.data(), n, size, size, false};
  MultiplyDense(q, MatrixView<double>{vectors, count, size, size, true}, /*add=*/false, sides.data(), count);
  if (transposed) {
    SolveLower(n, b_.data(), n, count, sides.data());
  } else {
    SolveLowerTransposed(n, b_.data(), n, count, sides.data());
  }
  MultiplyDense(MatrixView<double>{sides.data(), n, count, count, true}, q, /*add=*/true, vectors, size);
}

}  // namespace rutile
