#include "lib/potential/influence/curvature/inverse_curvature.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "lib/base/interrupt.h"
#include "lib/base/logging.h"
#include "lib/matrix/cholesky.h"
#include "lib/matrix/dense_products.h"
#include "lib/matrix/matrix_view.h"
#include "lib/potential/influence/curvature/subtracted_losses.h"

namespace rutile {
namespace {

// Beyond this size the trace of an inverse is not computed.
constexpr int64_t kMaxTraceSize = 6000;
// Rows of a product that one thread computes at a time.
constexpr int64_t kProductRows = 128;
// Solutions by rows may miss what they solve by this share.
constexpr double kSolutionTolerance = 1e-7;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

void For(ThreadPool* pool, int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& body) {
  if (pool == nullptr) {
    body(0, n);
  } else {
    pool->For(n, grain, [&](int64_t begin, int64_t end, int) { body(begin, end); });
  }
}

// Returns the transpose of `from` [rows, columns].
std::vector<double> Transposed(int64_t rows, int64_t columns, const double* from) {
  std::vector<double> to(rows * columns);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) to[j * rows + i] = from[i * columns + j];
  }
  return to;
}

// Overwrites `to` [rows, columns] with the transpose of `from` [columns, rows].
void StoreTransposed(int64_t rows, int64_t columns, const std::vector<double>& from, double* to) {
  for (int64_t i = 0; i < columns; ++i) {
    for (int64_t r = 0; r < rows; ++r) to[r * columns + i] = from[i * rows + r];
  }
}

// Returns tr(D A^-1) from the factor of A; after a signal any number.
double TraceOfDamping(int64_t size, const double* factor, absl::Span<const double> damping, ThreadPool* pool) {
  constexpr int64_t kSides = 256;
  double trace = 0;
  for (int64_t first = 0; first < size && InterruptSignal() == 0; first += kSides) {
    const int64_t sides = std::min(kSides, size - first), rest = size - first;
    std::vector<double> b(rest * sides, 0.0);
    for (int64_t s = 0; s < sides; ++s) b[s * sides + s] = std::sqrt(damping[first + s]);
    // Above `first` the solution is 0: the lower right part of the factor suffices.
    SolveLower(rest, factor + first * size + first, size, sides, b.data(), pool);
    for (const double each : b) trace += each * each;
  }
  return trace;
}

double TraceUnlessLarge(int64_t size, const double* factor, absl::Span<const double> damping, ThreadPool* pool) {
  return size > kMaxTraceSize ? kNaN : TraceOfDamping(size, factor, damping, pool);
}

class MatrixInverse final : public InverseCurvature {
 public:
  // factor: [C, C].
  MatrixInverse(std::vector<double> factor, double damping_trace)
      : size_(static_cast<int64_t>(std::llround(std::sqrt(static_cast<double>(factor.size()))))),
        factor_(std::move(factor)),
        damping_trace_(damping_trace) {
    for (int64_t i = 0; i < size_; ++i) std::fill_n(&factor_[i * size_] + i + 1, size_ - i - 1, 0.0);
  }

  int64_t size() const override { return size_; }
  void Solve(int64_t count, double* vectors, ThreadPool* pool) const override {
    std::vector<double> sides = Transposed(count, size_, vectors);
    SolveLower(size_, factor_.data(), size_, count, sides.data(), pool);
    SolveLowerTransposed(size_, factor_.data(), size_, count, sides.data(), pool);
    StoreTransposed(count, size_, sides, vectors);
  }
  void SolveHalf(int64_t count, double* vectors, ThreadPool* pool) const override {
    std::vector<double> sides = Transposed(count, size_, vectors);
    SolveLower(size_, factor_.data(), size_, count, sides.data(), pool);
    StoreTransposed(count, size_, sides, vectors);
  }
  double damping_trace() const override { return damping_trace_; }
  const std::vector<double>& Factor() const override { return factor_; }
  const CurvatureRows& Rows() const override { return no_rows_; }
  void Multiply(double factor) override {
    for (double& each : factor_) each *= std::sqrt(factor);
    damping_trace_ = kNaN;
  }

 private:
  const int64_t size_;
  std::vector<double> factor_;  // [C, C]
  double damping_trace_;
  const CurvatureRows no_rows_;
};

// With W = 1 - Z^T L^-T (L + 1)^-1 Z, W W^T = 1 - Z^T G^-1 Z (A. Andrews, AIAA Journal 6, 1165 (1968)), so that M =
// W^T D^-1/2 without losses.
class RowsInverse final : public InverseCurvature {
 public:
  explicit RowsInverse(CurvatureRows rows)
      : size_(static_cast<int64_t>(rows.inverse_root.size())),
        num_rows_(static_cast<int64_t>(rows.rows.size()) / size_),
        scaled_(std::move(rows)) {}

  bool Factorize(const CurvatureLosses& losses, bool has_trace, ThreadPool* pool, bool* lost) {
    factor_.assign(num_rows_ * num_rows_, 0.0);
    For(pool, num_rows_, kProductRows, [&](int64_t begin, int64_t end) {
      if (InterruptSignal() != 0) return;
      MultiplyDense(Z().Rows(begin, end), Z().Rows(0, end).Transposed(), /*add=*/false,
                    factor_.data() + begin * num_rows_, num_rows_);
    });
    for (int64_t r = 0; r < num_rows_; ++r) factor_[r * num_rows_ + r] += 1;
    if (!FactorCholeskyUntilInterrupted(num_rows_, factor_.data(), pool)) return false;
    shifted_ = factor_;
    for (int64_t r = 0; r < num_rows_; ++r) shifted_[r * num_rows_ + r] += 1;
    const std::vector<double> ones(num_rows_, 1.0);
    damping_trace_ =
        has_trace ? static_cast<double>(size_ - num_rows_) + TraceUnlessLarge(num_rows_, factor_.data(), ones, pool)
                  : kNaN;
    if (InterruptSignal() != 0) return false;
    *lost = Subtract(losses, pool);
    return SolutionsAreExact(*lost ? losses : CurvatureLosses(), pool);
  }

  int64_t size() const override { return size_; }
  void Solve(int64_t count, double* vectors, ThreadPool* pool) const override {
    SolveHalf(count, vectors, pool);
    losses_.Apply(count, vectors, /*transposed=*/true);
    // M^T = D^-1/2 W.
    AddRows(count, vectors, /*half_first=*/true, pool);
    Scale(count, vectors);
  }
  void SolveHalf(int64_t count, double* vectors, ThreadPool* pool) const override {
    Scale(count, vectors);
    AddRows(count, vectors, /*half_first=*/false, pool);
    losses_.Apply(count, vectors, /*transposed=*/false);
  }
  double damping_trace() const override { return damping_trace_; }
  const std::vector<double>& Factor() const override { return no_factor_; }
  const CurvatureRows& Rows() const override {
    CHECK(losses_.empty()) << "without what it lost it is another curvature";
    return scaled_;
  }
  void Multiply(double factor) override {
    for (double& each : scaled_.inverse_root) each /= std::sqrt(factor);
    // What a multiple of A loses is a multiple, too: Q stays.
    damping_trace_ = kNaN;
  }

 private:
  MatrixView<double> Z() const { return {scaled_.rows.data(), num_rows_, size_, size_, false}; }

  void Scale(int64_t count, double* vectors) const {
    for (int64_t k = 0; k < count; ++k) {
      for (int64_t c = 0; c < size_; ++c) vectors[k * size_ + c] *= scaled_.inverse_root[c];
    }
  }

  // Overwrites vectors y with W y (half_first) or W^T y.
  void AddRows(int64_t count, double* vectors, bool half_first, ThreadPool* pool) const {
    std::vector<double> sides(num_rows_ * count);  // Z y, [R, count]
    const MatrixView<double> y{vectors, count, size_, size_, false};
    For(pool, num_rows_, kProductRows, [&](int64_t begin, int64_t end) {
      MultiplyDense(Z().Rows(begin, end), y.Transposed(), /*add=*/false, sides.data() + begin * count, count);
    });
    if (half_first) {
      SolveLower(num_rows_, shifted_.data(), num_rows_, count, sides.data(), pool);
      SolveLowerTransposed(num_rows_, factor_.data(), num_rows_, count, sides.data(), pool);
    } else {
      SolveLower(num_rows_, factor_.data(), num_rows_, count, sides.data(), pool);
      SolveLowerTransposed(num_rows_, shifted_.data(), num_rows_, count, sides.data(), pool);
    }
    for (double& each : sides) each = -each;
    const MatrixView<double> solved{sides.data(), num_rows_, count, count, false};
    For(pool, count, 1, [&](int64_t begin, int64_t end) {
      MultiplyDense(solved.Transposed().Rows(begin, end), Z(), /*add=*/true, vectors + begin * size_, size_);
    });
  }

  // Subtracts losses; returns false if there are none because A would not be positive definite.
  bool Subtract(const CurvatureLosses& losses, ThreadPool* pool) {
    std::vector<double> halves = losses.vectors;
    SolveHalf(static_cast<int64_t>(losses.divisor.size()), halves.data(), pool);
    if (!losses_.Make(std::move(halves), losses.divisor)) return false;
    // tr(D A^-1) gains tr(D M^T Q Q^T M) = |W Q|^2.
    std::vector<double> wq = losses_.vectors();
    AddRows(static_cast<int64_t>(wq.size()) / size_, wq.data(), /*half_first=*/true, pool);
    for (const double each : wq) damping_trace_ += each * each;
    return true;
  }

  // True if A x = v holds for the solution of one v, which has a part along the rows and a part beside them.
  bool SolutionsAreExact(const CurvatureLosses& losses, ThreadPool* pool) const {
    std::vector<double> v(size_), zx(num_rows_), sides(num_rows_, 1.0);
    MultiplyDense(MatrixView<double>{sides.data(), 1, num_rows_, num_rows_, false}, Z(), /*add=*/false, v.data(),
                  size_);
    double length = 0;
    for (const double each : v) length += each * each / static_cast<double>(size_);
    length = length > 0 ? std::sqrt(length) : 1;
    for (int64_t c = 0; c < size_; ++c)
      v[c] = (v[c] + length * std::sin(static_cast<double>(c))) / scaled_.inverse_root[c];
    std::vector<double> x = v;
    Solve(1, x.data(), pool);
    // A x = D^1/2 (1 + Z^T Z) D^1/2 x - U diag(1/l) U^T x, compared in units of D^1/2.
    std::vector<double> scaled(size_), found(size_);
    for (int64_t c = 0; c < size_; ++c) found[c] = scaled[c] = x[c] / scaled_.inverse_root[c];
    MultiplyDense(Z(), MatrixView<double>{scaled.data(), size_, 1, 1, false}, /*add=*/false, zx.data(), 1);
    MultiplyDense(MatrixView<double>{zx.data(), 1, num_rows_, num_rows_, false}, Z(), /*add=*/true, found.data(),
                  size_);
    for (size_t t = 0; t < losses.divisor.size(); ++t) {
      const double* const u = &losses.vectors[t * size_];
      double product = 0;
      for (int64_t c = 0; c < size_; ++c) product += u[c] * x[c];
      for (int64_t c = 0; c < size_; ++c) found[c] -= u[c] * product / losses.divisor[t] * scaled_.inverse_root[c];
    }
    double error = 0, all = 0;
    for (int64_t c = 0; c < size_; ++c) {
      const double expected = v[c] * scaled_.inverse_root[c];
      error += (found[c] - expected) * (found[c] - expected);
      all += expected * expected;
    }
    return error <= kSolutionTolerance * kSolutionTolerance * all;
  }

  const int64_t size_, num_rows_;
  CurvatureRows scaled_;                  // Z [R, C] and D^-1/2 [C]
  std::vector<double> factor_, shifted_;  // L and L + 1 [R, R]
  SubtractedLosses losses_;
  const std::vector<double> no_factor_;
  double damping_trace_ = 0;
};

}  // namespace

std::unique_ptr<InverseCurvature> InverseOfMatrix(std::vector<double> matrix, absl::Span<const double> damping,
                                                  const CurvatureLosses& losses, ThreadPool* pool, bool* lost) {
  const auto size = static_cast<int64_t>(damping.size());
  CHECK_EQ(static_cast<int64_t>(matrix.size()), size * size);
  for (int64_t c = 0; c < size; ++c) matrix[c * size + c] += damping[c];
  const std::vector<double> whole = losses.divisor.empty() ? std::vector<double>() : matrix;
  for (size_t t = 0; t < losses.divisor.size(); ++t) {
    const double* const u = &losses.vectors[t * size];
    for (int64_t i = 0; i < size; ++i) {
      for (int64_t j = 0; j <= i; ++j) matrix[i * size + j] -= u[i] * u[j] / losses.divisor[t];
    }
  }
  *lost = FactorCholeskyUntilInterrupted(size, matrix.data(), pool);
  if (!*lost) {
    if (whole.empty()) return nullptr;
    matrix = whole;
    if (!FactorCholeskyUntilInterrupted(size, matrix.data(), pool)) return nullptr;
  }
  const double trace = TraceUnlessLarge(size, matrix.data(), damping, pool);
  if (InterruptSignal() != 0) return nullptr;
  return std::make_unique<MatrixInverse>(std::move(matrix), trace);
}

std::unique_ptr<InverseCurvature> InverseOfRows(std::vector<double> rows, absl::Span<const double> damping,
                                                const CurvatureLosses& losses, ThreadPool* pool, bool* lost) {
  CHECK(!damping.empty() && rows.size() % damping.size() == 0);
  const auto size = static_cast<int64_t>(damping.size());
  std::vector<double> inverse_root;
  for (const double each : damping) inverse_root.push_back(1 / std::sqrt(each));
  for (size_t i = 0; i < rows.size(); ++i) rows[i] *= inverse_root[i % size];
  auto made = std::make_unique<RowsInverse>(CurvatureRows{std::move(rows), std::move(inverse_root)});
  if (!made->Factorize(losses, /*has_trace=*/true, pool, lost)) return nullptr;
  return made;
}

std::unique_ptr<InverseCurvature> InverseOfFactor(std::vector<double> factor) {
  return std::make_unique<MatrixInverse>(std::move(factor), kNaN);
}

std::unique_ptr<InverseCurvature> InverseOfScaledRows(CurvatureRows rows, ThreadPool* pool) {
  CHECK(!rows.inverse_root.empty() && rows.rows.size() % rows.inverse_root.size() == 0);
  auto made = std::make_unique<RowsInverse>(std::move(rows));
  bool lost = false;
  if (!made->Factorize({}, /*has_trace=*/false, pool, &lost)) return nullptr;
  return made;
}

double BytesOfMatrixInverse(int64_t size) { return 8.0 * static_cast<double>(size) * static_cast<double>(size); }

double BytesOfRowsInverse(int64_t num_rows, int64_t size) {
  return 8.0 * static_cast<double>(num_rows) * (static_cast<double>(size) + 2.0 * static_cast<double>(num_rows));
}

}  // namespace rutile
