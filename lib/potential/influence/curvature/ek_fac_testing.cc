#include "lib/potential/influence/curvature/ek_fac_testing.h"

#include <cmath>

namespace rutile {
namespace {

// Returns the columns of a block's matrix, in the order of its rows.
std::vector<int64_t> ColumnsOf(const KroneckerBlock& block) {
  std::vector<int64_t> columns;
  for (int64_t i = 0; i < block.outputs; ++i) {
    for (int64_t j = 0; j < block.inputs; ++j) columns.push_back(block.weight + i * block.inputs + j);
    if (block.bias >= 0) columns.push_back(block.bias + i);
  }
  return columns;
}

// Returns the eigenvectors of a symmetric matrix, one in each row, by Jacobi's rotations.
std::vector<double> Eigenvectors(int64_t n, std::vector<double> a) {
  std::vector<double> v(n * n, 0.0);
  for (int64_t i = 0; i < n; ++i) v[i * n + i] = 1;
  for (int sweep = 0; sweep < 14; ++sweep) {
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t q = p + 1; q < n; ++q) {
        if (a[p * n + q] == 0) continue;
        const double angle = 0.5 * std::atan2(2 * a[p * n + q], a[q * n + q] - a[p * n + p]);
        const double c = std::cos(angle), s = std::sin(angle);
        const auto turn = [&](double* x, double* y) {
          const double one = *x, two = *y;
          *x = c * one - s * two;
          *y = s * one + c * two;
        };
        for (int64_t k = 0; k < n; ++k) turn(&a[p * n + k], &a[q * n + k]);
        for (int64_t k = 0; k < n; ++k) turn(&a[k * n + p], &a[k * n + q]);
        for (int64_t k = 0; k < n; ++k) turn(&v[p * n + k], &v[q * n + k]);
      }
    }
  }
  return v;
}

// The factors of a block of rows.
struct Factors {
  Factors(const std::vector<double>& rows, const KroneckerBlock& block, const std::vector<double>& scale)
      : m(block.outputs), w(block.width()), columns(ColumnsOf(block)), left(m * m, 0.0), right(w * w, 0.0) {
    const auto size = static_cast<int64_t>(scale.size());
    for (size_t first = 0; first < rows.size(); first += size) {
      std::vector<double> g;
      for (const int64_t c : columns) g.push_back(rows[first + c] * scale[c]);
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t k = 0; k < m; ++k) {
          for (int64_t j = 0; j < w; ++j) left[i * m + k] += g[i * w + j] * g[k * w + j];
        }
        for (int64_t j = 0; j < w; ++j) {
          for (int64_t k = 0; k < w; ++k) right[j * w + k] += g[i * w + j] * g[i * w + k];
        }
      }
      matrices.push_back(g);
    }
  }
  int64_t m, w;
  std::vector<int64_t> columns;
  std::vector<double> left, right;
  std::vector<std::vector<double>> matrices;
};

}  // namespace

std::vector<double> DenseEkFac(const std::vector<double>& rows, const std::vector<KroneckerBlock>& blocks,
                               const std::vector<double>& damping, double power,
                               const std::function<double(double)>& f) {
  const auto size = static_cast<int64_t>(damping.size());
  std::vector<double> scale, result(size * size, 0.0);
  for (const double each : damping) scale.push_back(1 / std::sqrt(each));
  for (const KroneckerBlock& block : blocks) {
    const Factors factors(rows, block, scale);
    const int64_t m = factors.m, w = factors.w;
    const std::vector<double> u = Eigenvectors(m, factors.left), v = Eigenvectors(w, factors.right);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < w; ++j) {
        std::vector<double> product(m * w);
        for (int64_t k = 0; k < m * w; ++k) product[k] = u[i * m + k / w] * v[j * w + k % w];
        double lambda = 0;
        for (const std::vector<double>& g : factors.matrices) {
          double sum = 0;
          for (int64_t k = 0; k < m * w; ++k) sum += product[k] * g[k];
          lambda += sum * sum;
        }
        const double value = f(lambda);
        for (int64_t k = 0; k < m * w; ++k) product[k] *= std::pow(damping[factors.columns[k]], power);
        for (int64_t k = 0; k < m * w; ++k) {
          const int64_t a = factors.columns[k];
          for (int64_t l = 0; l < m * w; ++l) {
            const int64_t b = factors.columns[l];
            result[a * size + b] += value * product[k] * product[l];
          }
        }
      }
    }
  }
  return result;
}

std::vector<double> DenseBlocks(const std::vector<double>& rows, const std::vector<KroneckerBlock>& blocks,
                                int64_t size) {
  std::vector<double> result(size * size, 0.0);
  for (const KroneckerBlock& block : blocks) {
    const std::vector<int64_t> columns = ColumnsOf(block);
    for (size_t first = 0; first < rows.size(); first += size) {
      for (const int64_t a : columns) {
        for (const int64_t b : columns) result[a * size + b] += rows[first + a] * rows[first + b];
      }
    }
  }
  return result;
}

std::vector<double> DenseKFac(const std::vector<double>& rows, const std::vector<KroneckerBlock>& blocks,
                              int64_t size) {
  std::vector<double> result(size * size, 0.0);
  for (const KroneckerBlock& block : blocks) {
    const Factors factors(rows, block, std::vector<double>(size, 1.0));
    const int64_t m = factors.m, w = factors.w;
    double trace = 0;
    for (int64_t i = 0; i < m; ++i) trace += factors.left[i * m + i];
    for (int64_t k = 0; k < m * w && trace > 0; ++k) {
      for (int64_t l = 0; l < m * w; ++l) {
        result[factors.columns[k] * size + factors.columns[l]] =
            factors.left[k / w * m + l / w] * factors.right[k % w * w + l % w] / trace;
      }
    }
  }
  return result;
}

}  // namespace rutile
