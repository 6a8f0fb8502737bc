#include "lib/matrix/cholesky.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "lib/base/interrupt.h"
#include "lib/matrix/dense_products.h"
#include "lib/matrix/matrix_view.h"

namespace rutile {
namespace {

// Columns that are factored before the rest of the matrix is updated by a product, and rows of one such product.
constexpr int64_t kBlock = 96, kRows = 192;
// Right sides that one thread solves at a time.
constexpr int64_t kSides = 64;

void For(ThreadPool* pool, int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& body) {
  if (pool != nullptr && n > grain) {
    pool->For(n, grain, [&](int64_t begin, int64_t end, int) { body(begin, end); });
    return;
  }
  for (int64_t begin = 0; begin < n; begin += grain) body(begin, std::min(begin + grain, n));
}

// Factors the block [k, k] of columns by the definition.
bool FactorBlock(int64_t k, double* a, int64_t stride) {
  for (int64_t j = 0; j < k; ++j) {
    double* const row = a + j * stride;
    double pivot = row[j];
    for (int64_t p = 0; p < j; ++p) pivot -= row[p] * row[p];
    if (!(pivot > 0) || !std::isfinite(pivot)) return false;
    row[j] = std::sqrt(pivot);
    const double inverse = 1 / row[j];
    for (int64_t i = j + 1; i < k; ++i) {
      double* const other = a + i * stride;
      double sum = other[j];
      for (int64_t p = 0; p < j; ++p) sum -= other[p] * row[p];
      other[j] = sum * inverse;
    }
  }
  return true;
}

// Sets x = x T^-T for rows x [rows, k], where T [k, k] is lower triangular.
void SolveRows(int64_t rows, int64_t k, const double* t, double* x, int64_t stride) {
  for (int64_t i = 0; i < rows; ++i) {
    double* const row = x + i * stride;
    for (int64_t j = 0; j < k; ++j) {
      const double* const factor = t + j * stride;
      double sum = row[j];
      for (int64_t p = 0; p < j; ++p) sum -= row[p] * factor[p];
      row[j] = sum / factor[j];
    }
  }
}

// Sets to [rows, columns] = -from, rows `stride` apart.
void Negate(int64_t rows, int64_t columns, const double* from, int64_t stride, double* to) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) *to++ = -from[i * stride + j];
  }
}

// looks: at signals, between blocks of columns and of rows.
bool Factor(int64_t n, double* a, ThreadPool* pool, bool looks) {
  const auto is_interrupted = [looks] { return looks && InterruptSignal() != 0; };
  std::vector<double> negative;
  for (int64_t first = 0; first < n; first += kBlock) {
    const int64_t k = std::min(kBlock, n - first), below = first + k, rest = n - below;
    double* const diagonal = a + first * n + first;
    if (!FactorBlock(k, diagonal, n)) return false;
    double* const panel = a + below * n + first;  // [rest, k]
    negative.resize(rest * k);
    For(pool, rest, kRows, [&](int64_t begin, int64_t end) {
      if (is_interrupted()) return;
      SolveRows(end - begin, k, diagonal, panel + begin * n, n);
      Negate(end - begin, k, panel + begin * n, n, &negative[begin * k]);
    });
    // A -= P P^T in the lower triangle. Blocks on the diagonal spill above it, where the numbers are put back.
    const MatrixView<double> left{negative.data(), rest, k, k, false}, right{panel, rest, k, n, false};
    For(pool, rest, kRows, [&](int64_t begin, int64_t end) {
      if (is_interrupted()) return;
      std::vector<double> above;
      double* const out = a + (below + begin) * n + below;
      for (int64_t i = begin; i < end; ++i) {
        above.insert(above.end(), out + (i - begin) * n + i + 1, out + (i - begin) * n + end);
      }
      MultiplyDense(left.Rows(begin, end), right.Rows(0, end).Transposed(), /*add=*/true, out, n);
      const double* kept = above.data();
      for (int64_t i = begin; i < end; ++i) {
        std::copy_n(kept, end - i - 1, out + (i - begin) * n + i + 1);
        kept += end - i - 1;
      }
    });
    // What was left out is noticed here, as the signal stays received.
    if (is_interrupted()) return false;
  }
  return true;
}

}  // namespace

bool FactorCholesky(int64_t n, double* a, ThreadPool* pool) { return Factor(n, a, pool, /*looks=*/false); }

bool FactorCholeskyUntilInterrupted(int64_t n, double* a, ThreadPool* pool) {
  return Factor(n, a, pool, /*looks=*/true);
}

void SolveLower(int64_t n, const double* l, int64_t stride, int64_t m, double* b, ThreadPool* pool) {
  For(pool, m, kSides, [&](int64_t begin, int64_t end) {
    const int64_t sides = end - begin;
    std::vector<double> negative(kBlock * sides);
    for (int64_t first = 0; first < n; first += kBlock) {
      const int64_t k = std::min(kBlock, n - first);
      for (int64_t i = first; i < first + k; ++i) {
        double* const row = b + i * m + begin;
        for (int64_t p = first; p < i; ++p) {
          const double factor = l[i * stride + p];
          const double* const other = b + p * m + begin;
          for (int64_t s = 0; s < sides; ++s) row[s] -= factor * other[s];
        }
        const double inverse = 1 / l[i * stride + i];
        for (int64_t s = 0; s < sides; ++s) row[s] *= inverse;
      }
      const int64_t below = first + k;
      if (below == n) break;
      Negate(k, sides, b + first * m + begin, m, negative.data());
      MultiplyDense(MatrixView<double>{l + below * stride + first, n - below, k, stride, false},
                    MatrixView<double>{negative.data(), k, sides, sides, false}, /*add=*/true, b + below * m + begin,
                    m);
    }
  });
}

void SolveLowerTransposed(int64_t n, const double* l, int64_t stride, int64_t m, double* b, ThreadPool* pool) {
  For(pool, m, kSides, [&](int64_t begin, int64_t end) {
    const int64_t sides = end - begin;
    std::vector<double> negative(kBlock * sides);
    for (int64_t last = n; last > 0;) {
      const int64_t first = (last - 1) / kBlock * kBlock, k = last - first;
      for (int64_t i = last - 1; i >= first; --i) {
        double* const row = b + i * m + begin;
        for (int64_t p = i + 1; p < last; ++p) {
          const double factor = l[p * stride + i];
          const double* const other = b + p * m + begin;
          for (int64_t s = 0; s < sides; ++s) row[s] -= factor * other[s];
        }
        const double inverse = 1 / l[i * stride + i];
        for (int64_t s = 0; s < sides; ++s) row[s] *= inverse;
      }
      if (first > 0) {
        Negate(k, sides, b + first * m + begin, m, negative.data());
        MultiplyDense(MatrixView<double>{l + first * stride, k, first, stride, false}.Transposed(),
                      MatrixView<double>{negative.data(), k, sides, sides, false}, /*add=*/true, b + begin, m);
      }
      last = first;
    }
  });
}

}  // namespace rutile
