#include "lib/potential/influence/curvature/ek_fac.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "lib/base/logging.h"
#include "lib/matrix/dense_products.h"
#include "lib/matrix/matrix_view.h"
#include "lib/matrix/symmetric_eigen.h"

namespace rutile {
namespace {

using View = MatrixView<double>;

View Square(const std::vector<double>& a, int64_t n) { return {a.data(), n, n, n, false}; }

void For(ThreadPool* pool, size_t n, const std::function<void(size_t)>& body) {
  if (pool == nullptr) {
    for (size_t k = 0; k < n; ++k) body(k);
    return;
  }
  pool->For(static_cast<int64_t>(n), 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t k = begin; k < end; ++k) body(static_cast<size_t>(k));
  });
}

// Returns the place of a parameter among the columns, or -1.
int64_t PlaceOf(const std::vector<ColumnRange>& columns, int64_t parameter) {
  int64_t place = 0;
  for (const ColumnRange& range : columns) {
    if (parameter >= range.begin && parameter < range.end) return place + parameter - range.begin;
    place += range.size();
  }
  return -1;
}

}  // namespace

std::vector<KroneckerBlock> KroneckerBlocks(const std::vector<ParameterSlice>& slices,
                                            const std::vector<ColumnRange>& columns) {
  std::vector<KroneckerBlock> blocks;
  int64_t counted = 0, size = 0;
  for (const ColumnRange& range : columns) size += range.size();
  for (size_t k = 0; k < slices.size(); ++k) {
    const ParameterSlice& slice = slices[k];
    const int64_t place = PlaceOf(columns, slice.offset);
    if (place < 0) continue;
    counted += slice.num_elements();
    absl::string_view stem = slice.name;
    if (!blocks.empty() && absl::ConsumeSuffix(&stem, ".bias")) {
      KroneckerBlock& layer = blocks.back();
      if (layer.name == absl::StrCat(stem, ".weight") && layer.outputs == slice.num_elements()) {
        layer.bias = place;
        continue;
      }
    }
    KroneckerBlock block{slice.name};
    block.outputs = slice.shape.size() < 2 ? 1 : slice.shape[0];
    block.inputs = slice.num_elements() / block.outputs;
    block.weight = place;
    blocks.push_back(block);
  }
  CHECK_EQ(counted, size) << "columns that are no whole slices";
  return blocks;
}

// A block, whose factors become eigenvectors, one in each row.
struct EkFac::Basis {
  KroneckerBlock block;
  std::vector<double> left, right;  // [m, m], [w, w]
  std::vector<double> squares;      // [m, w]

  // Calls use(c, at) for each column c of the rows and the place `at` of its number in a matrix whose rows are `stride`
  // numbers apart.
  template <typename Use>
  void ForEach(int64_t stride, const Use& use) const {
    for (int64_t i = 0; i < block.outputs; ++i) {
      for (int64_t j = 0; j < block.inputs; ++j) use(block.weight + i * block.inputs + j, i * stride + j);
      if (block.bias >= 0) use(block.bias + i, i * stride + block.inputs);
    }
  }

  // Returns [m, count, w]: the matrices of rows [count, size], one after the other in each of the m parts, times
  // `scale` [size] unless it is null.
  std::vector<double> Gather(int64_t count, const double* rows, int64_t size, const double* scale) const {
    const int64_t w = block.width();
    std::vector<double> matrices(block.outputs * count * w);
    for (int64_t k = 0; k < count; ++k) {
      const double* const row = rows + k * size;
      double* const to = matrices.data() + k * w;
      if (scale == nullptr) {
        ForEach(count * w, [&](int64_t c, int64_t at) { to[at] = row[c]; });
      } else {
        ForEach(count * w, [&](int64_t c, int64_t at) { to[at] = row[c] * scale[c]; });
      }
    }
    return matrices;
  }
  void Scatter(int64_t count, const std::vector<double>& matrices, const double* scale, double* rows,
               int64_t size) const {
    const int64_t w = block.width();
    for (int64_t k = 0; k < count; ++k) {
      double* const row = rows + k * size;
      const double* const from = matrices.data() + k * w;
      ForEach(count * w, [&](int64_t c, int64_t at) { row[c] = scale == nullptr ? from[at] : from[at] * scale[c]; });
    }
  }

  // Takes matrices [m, count, w] to the basis, or back from it.
  void Turn(int64_t count, bool back, std::vector<double>* matrices) const {
    const int64_t m = block.outputs, w = block.width();
    std::vector<double> half;
    const std::vector<double>* from = matrices;
    if (m > 1) {
      half.resize(matrices->size());
      const View vectors = Square(left, m);
      MultiplyDense(back ? vectors.Transposed() : vectors, View{matrices->data(), m, count * w, count * w, false},
                    /*add=*/false, half.data(), count * w);
      from = &half;
    }
    std::vector<double> whole(matrices->size());
    const View vectors = Square(right, w);
    MultiplyDense(View{from->data(), m * count, w, w, false}, back ? vectors : vectors.Transposed(), /*add=*/false,
                  whole.data(), w);
    *matrices = std::move(whole);
  }
};

// Its halves are M = (Lambda + t)^-1/2 U^T S.
class EkFac::Solver final : public InverseCurvature {
 public:
  // squares of bases: lambda.
  Solver(std::vector<Basis> bases, std::vector<double> inverse_root, double damping)
      : bases_(std::move(bases)),
        size_(static_cast<int64_t>(inverse_root.size())),
        inverse_root_(std::move(inverse_root)) {
    damping_trace_ = 0;
    for (Basis& basis : bases_) {
      // What is left of lambda is (lambda + t)^-1/2.
      for (double& each : basis.squares) {
        damping_trace_ += damping / (each + damping);
        each = 1 / std::sqrt(each + damping);
      }
    }
  }

  int64_t size() const override { return size_; }
  void Solve(int64_t count, double* vectors, ThreadPool* pool) const override {
    SolveHalf(count, vectors, pool);
    For(pool, bases_.size(), [&](size_t b) {
      const Basis& basis = bases_[b];
      std::vector<double> matrices = basis.Gather(count, vectors, size_, nullptr);
      Scale(basis, count, &matrices);
      basis.Turn(count, /*back=*/true, &matrices);
      basis.Scatter(count, matrices, inverse_root_.data(), vectors, size_);
    });
  }
  void SolveHalf(int64_t count, double* vectors, ThreadPool* pool) const override {
    if (count == 0) return;
    For(pool, bases_.size(), [&](size_t b) {
      const Basis& basis = bases_[b];
      std::vector<double> matrices = basis.Gather(count, vectors, size_, inverse_root_.data());
      basis.Turn(count, /*back=*/false, &matrices);
      Scale(basis, count, &matrices);
      basis.Scatter(count, matrices, nullptr, vectors, size_);
    });
  }
  double damping_trace() const override { return damping_trace_; }
  const std::vector<double>& Factor() const override { return no_factor_; }
  const CurvatureRows& Rows() const override { return no_rows_; }
  void Multiply(double factor) override {
    for (Basis& basis : bases_) {
      for (double& each : basis.squares) each /= std::sqrt(factor);
    }
    damping_trace_ = std::numeric_limits<double>::quiet_NaN();
  }

 private:
  static void Scale(const Basis& basis, int64_t count, std::vector<double>* matrices) {
    const int64_t w = basis.block.width();
    double* next = matrices->data();
    for (int64_t i = 0; i < basis.block.outputs; ++i) {
      const double* const factor = &basis.squares[i * w];
      for (int64_t k = 0; k < count; ++k, next += w) {
        for (int64_t j = 0; j < w; ++j) next[j] *= factor[j];
      }
    }
  }

  std::vector<Basis> bases_;
  const int64_t size_;
  const std::vector<double> inverse_root_;
  double damping_trace_ = 0;
  const std::vector<double> no_factor_;
  const CurvatureRows no_rows_;
};

EkFac::EkFac(const std::vector<KroneckerBlock>& blocks, std::vector<double> inverse_root)
    : inverse_root_(std::move(inverse_root)) {
  for (const KroneckerBlock& block : blocks) {
    const int64_t m = block.outputs, w = block.width();
    bases_.push_back(
        {block, std::vector<double>(m * m, 0.0), std::vector<double>(w * w, 0.0), std::vector<double>(m * w, 0.0)});
  }
}

EkFac::~EkFac() = default;

double EkFac::Bytes(const std::vector<KroneckerBlock>& blocks) {
  double numbers = 0;
  for (const KroneckerBlock& block : blocks) {
    const auto m = static_cast<double>(block.outputs), w = static_cast<double>(block.width());
    // The factors, the eigenvalues and D.
    numbers += m * m + w * w + 2 * m * w;
  }
  return 8 * numbers;
}

void EkFac::AddFactors(int64_t count, const double* rows, ThreadPool* pool) {
  const auto size = static_cast<int64_t>(inverse_root_.size());
  if (count == 0) return;
  for (int64_t k = 0; k < count * size; ++k) trace_ += rows[k] * rows[k];
  For(pool, bases_.size(), [&](size_t b) {
    Basis& basis = bases_[b];
    const int64_t m = basis.block.outputs, w = basis.block.width();
    const std::vector<double> matrices = basis.Gather(count, rows, size, inverse_root_.data());
    const View by_inputs{matrices.data(), m * count, w, w, false};
    MultiplyDense(by_inputs.Transposed(), by_inputs, /*add=*/true, basis.right.data(), w);
    const View by_outputs{matrices.data(), m, count * w, count * w, false};
    MultiplyDense(by_outputs, by_outputs.Transposed(), /*add=*/true, basis.left.data(), m);
  });
}

bool EkFac::MakeBases(ThreadPool* pool) {
  std::atomic<bool> is_finite{true};
  For(pool, 2 * bases_.size(), [&](size_t b) {
    Basis& basis = bases_[b / 2];
    const int64_t n = b % 2 == 0 ? basis.block.outputs : basis.block.width();
    std::vector<double> values(n);
    std::vector<double>& factor = b % 2 == 0 ? basis.left : basis.right;
    if (!EigenSymmetric(n, factor.data(), values.data())) is_finite = false;
  });
  return is_finite;
}

void EkFac::AddSquares(int64_t count, const double* rows, ThreadPool* pool) {
  const auto size = static_cast<int64_t>(inverse_root_.size());
  if (count == 0) return;
  For(pool, bases_.size(), [&](size_t b) {
    Basis& basis = bases_[b];
    std::vector<double> matrices = basis.Gather(count, rows, size, inverse_root_.data());
    basis.Turn(count, /*back=*/false, &matrices);
    const int64_t w = basis.block.width();
    const double* next = matrices.data();
    for (int64_t i = 0; i < basis.block.outputs; ++i) {
      double* const sums = &basis.squares[i * w];
      for (int64_t k = 0; k < count; ++k, next += w) {
        for (int64_t j = 0; j < w; ++j) sums[j] += next[j] * next[j];
      }
    }
  });
}

std::unique_ptr<InverseCurvature> EkFac::Inverse(double share, double damping) {
  for (Basis& basis : bases_) {
    for (double& each : basis.squares) each *= share;
  }
  return std::make_unique<Solver>(std::move(bases_), std::move(inverse_root_), damping);
}

}  // namespace rutile
