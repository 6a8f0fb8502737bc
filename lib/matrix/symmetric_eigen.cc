#include "lib/matrix/symmetric_eigen.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace rutile {
namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();
// QR steps for each eigenvalue, of which two or three suffice.
constexpr int kMaxSteps = 60;

double Dot(int64_t n, const double* a, const double* b) {
  double sum[4] = {};
  int64_t k = 0;
  for (; k + 4 <= n; k += 4) {
    for (int l = 0; l < 4; ++l) sum[l] += a[k + l] * b[k + l];
  }
  for (; k < n; ++k) sum[0] += a[k] * b[k];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// A tridiagonal matrix T with A = Q T Q^T, and the reflections 1 - beta v v^T whose product is Q.
struct Tridiagonal {
  std::vector<double> diagonal, beside;  // [n], [n - 1]
  std::vector<double> reflections;       // [n, n], row k: v of reflection k from number k + 1 on
  std::vector<double> beta;              // [n], 0: the reflection is 1
};

Tridiagonal Reduce(int64_t n, double* a) {
  Tridiagonal t{std::vector<double>(n), std::vector<double>(std::max<int64_t>(n - 1, 0)),
                std::vector<double>(n * n, 0.0), std::vector<double>(n, 0.0)};
  std::vector<double> w(n);
  for (int64_t k = 0; k < n; ++k) {
    t.diagonal[k] = a[k * n + k];
    const int64_t rest = n - k - 1;
    if (rest == 0) break;
    double* const v = &t.reflections[k * n + k + 1];
    std::copy_n(a + k * n + k + 1, rest, v);
    const double below = Dot(rest - 1, v + 1, v + 1);
    t.beside[k] = v[0];
    if (!(below > 0)) continue;
    const double length = std::sqrt(v[0] * v[0] + below), end = v[0] > 0 ? -length : length;
    v[0] -= end;
    const double beta = 2 / (v[0] * v[0] + below);
    t.beside[k] = end;
    t.beta[k] = beta;
    // The rest of A becomes A - v w^T - w v^T.
    for (int64_t i = 0; i < rest; ++i) w[i] = beta * Dot(rest, a + (k + 1 + i) * n + k + 1, v);
    const double half = 0.5 * beta * Dot(rest, w.data(), v);
    for (int64_t i = 0; i < rest; ++i) w[i] -= half * v[i];
    for (int64_t i = 0; i < rest; ++i) {
      double* const row = a + (k + 1 + i) * n + k + 1;
      for (int64_t j = 0; j < rest; ++j) row[j] -= v[i] * w[j] + w[i] * v[j];
    }
  }
  return t;
}

// Overwrites a [n, n] with Q^T.
void FormTransposed(int64_t n, const Tridiagonal& t, double* a) {
  std::fill_n(a, n * n, 0.0);
  for (int64_t i = 0; i < n; ++i) a[i * n + i] = 1;
  for (int64_t k = n - 2; k >= 0; --k) {
    if (t.beta[k] == 0) continue;
    const double* const v = &t.reflections[k * n + k + 1];
    const int64_t rest = n - k - 1;
    for (int64_t i = k + 1; i < n; ++i) {
      double* const row = a + i * n + k + 1;
      const double factor = t.beta[k] * Dot(rest, row, v);
      for (int64_t j = 0; j < rest; ++j) row[j] -= factor * v[j];
    }
  }
}

// Takes one QR step of the part [lo, hi] of T, all of whose numbers beside the diagonal count, and turns the rows of a.
void Step(int64_t n, int64_t lo, int64_t hi, double* d, double* e, double* a) {
  const double half = 0.5 * (d[hi - 1] - d[hi]), last = e[hi - 1];
  const double shift = d[hi] - last * last / (half + std::copysign(std::hypot(half, last), half));
  double x = d[lo] - shift, z = e[lo];
  for (int64_t k = lo; k < hi; ++k) {
    const double r = std::hypot(x, z);
    const double c = r > 0 ? x / r : 1, s = r > 0 ? z / r : 0;
    if (k > lo) e[k - 1] = r;
    const double p = d[k], q = e[k], u = d[k + 1];
    d[k] = c * c * p + 2 * c * s * q + s * s * u;
    d[k + 1] = s * s * p - 2 * c * s * q + c * c * u;
    e[k] = c * s * (u - p) + (c * c - s * s) * q;
    if (k + 1 < hi) {
      x = e[k];
      z = s * e[k + 1];
      e[k + 1] *= c;
    }
    double *const one = a + k * n, *const two = one + n;
    for (int64_t j = 0; j < n; ++j) {
      const double left = one[j], right = two[j];
      one[j] = c * left + s * right;
      two[j] = c * right - s * left;
    }
  }
}

}  // namespace

bool EigenSymmetric(int64_t n, double* a, double* values) {
  if (!std::all_of(a, a + n * n, [](double each) { return std::isfinite(each); })) return false;
  Tridiagonal t = Reduce(n, a);
  FormTransposed(n, t, a);
  double *const d = t.diagonal.data(), *const e = t.beside.data();
  double norm = 0;
  for (const double each : t.diagonal) norm = std::max(norm, std::abs(each));
  for (const double each : t.beside) norm = std::max(norm, std::abs(each));
  if (!std::isfinite(norm)) return false;
  const auto is_zero = [&](int64_t k) {
    return std::abs(e[k]) <= kEps * std::max(std::abs(d[k]) + std::abs(d[k + 1]), kEps * norm);
  };
  int64_t steps = kMaxSteps * n;
  for (int64_t hi = n - 1; hi > 0;) {
    if (is_zero(hi - 1)) {
      e[--hi] = 0;
      continue;
    }
    int64_t lo = hi - 1;
    while (lo > 0 && !is_zero(lo - 1)) --lo;
    if (lo > 0) e[lo - 1] = 0;
    if (steps-- == 0) return false;
    Step(n, lo, hi, d, e, a);
  }
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return d[i] < d[j] || (d[i] == d[j] && i < j); });
  const std::vector<double> vectors(a, a + n * n);
  for (int64_t k = 0; k < n; ++k) {
    values[k] = d[order[k]];
    std::copy_n(&vectors[order[k] * n], n, a + k * n);
  }
  return true;
}

}  // namespace rutile
