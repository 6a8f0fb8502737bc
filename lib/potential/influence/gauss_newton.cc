#include "lib/potential/influence/gauss_newton.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/logging.h"
#include "lib/base/random.h"
#include "lib/base/status_macros.h"
#include "lib/matrix/cholesky.h"
#include "lib/matrix/dense_products.h"
#include "lib/matrix/matrix_view.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

// Rows that are made before they are added to the matrix, at least.
constexpr int64_t kTileRows = 1024;
// Rows of the matrix that one thread updates at a time.
constexpr int64_t kMatrixRows = 128;
// Beyond this size the trace of the inverse, which takes three times the factorization, is not computed.
constexpr int64_t kMaxTraceSize = 6000;

// Adds the rows of tiles to H, and the gradients of terms to the coupling.
class Sums {
 public:
  Sums(const GradientFormulas& formulas, const AtomicData& data, const std::vector<ColumnRange>& columns,
       const GaussNewtonOptions& options, int64_t size, ThreadPool* pool)
      : formulas_(formulas), data_(data), options_(options), size_(size), pool_(pool) {
    matrix_.assign(size * size, 0.0);
    for (int t = 0; t < pool->num_threads(); ++t) workers_.push_back(std::make_unique<Worker>(formulas, columns));
    if (is_coupled()) coupling_.assign(3 * size, 0.0);
  }

  bool is_coupled() const { return options_.coupling != LossCoupling::kNone; }

  absl::Status Add() {
    const std::vector<int64_t>& examples = options_.examples;
    for (size_t first = 0; first < examples.size();) {
      int64_t rows = 0;
      size_t end = first;
      std::vector<int64_t> offset;
      while (end < examples.size() && (rows == 0 || rows < kTileRows)) {
        offset.push_back(rows);
        rows += RowsOf(examples[end++]);
      }
      RETURN_IF_ERROR(AddTile(absl::MakeConstSpan(&examples[first], end - first), offset, rows));
      first = end;
    }
    return absl::OkStatus();
  }

  std::vector<double> matrix_;    // [C, C], lower triangle; the sum over structures, not the mean
  std::vector<double> coupling_;  // [3, C] gradients of the terms' sums with their weights
  StructureTerms sums_;
  int64_t num_outputs_ = 0, num_rows_ = 0;
  double loss_sum_ = 0;

 private:
  struct Worker {
    Worker(const GradientFormulas& formulas, const std::vector<ColumnRange>& columns) : rows(formulas, columns) {}
    OutputRows rows;
    std::vector<StructureOutput> outputs;
    std::vector<double> slopes;
  };
  // What one structure adds to the sums.
  struct Part {
    absl::Status status;
    StructureTerms terms;
    double loss = 0;
  };

  int64_t RowsOf(int64_t s) const {
    const int64_t outputs = OutputRows::Count(data_, s, formulas_.weights);
    return options_.probes > 0 ? std::min<int64_t>(outputs, options_.probes) : outputs;
  }

  absl::Status AddTile(absl::Span<const int64_t> examples, const std::vector<int64_t>& offset, int64_t rows) {
    const ProfileScope scope(Stage::kGradients);
    const auto n = static_cast<int64_t>(examples.size());
    tile_.resize(rows * size_);
    parts_.assign(n, Part());
    if (is_coupled()) gradients_.assign(3 * n * size_, 0.0);
    data_.Prefetch(examples);
    pool_->For(n, 1, [&](int64_t begin, int64_t end, int index) {
      for (int64_t k = begin; k < end; ++k) {
        MakeRows(examples[k], tile_.data() + offset[k] * size_, workers_[index].get(),
                 is_coupled() ? &gradients_[3 * k * size_] : nullptr, &parts_[k]);
      }
    });
    for (int64_t k = 0; k < n; ++k) {
      RETURN_IF_ERROR(parts_[k].status);
      num_outputs_ += OutputRows::Count(data_, examples[k], formulas_.weights);
      loss_sum_ += parts_[k].loss;
      for (int t = 0; t < 3; ++t) {
        sums_.sum[t] += parts_[k].terms.sum[t];
        sums_.count[t] += parts_[k].terms.count[t];
      }
      for (int64_t c = 0; is_coupled() && c < 3 * size_; ++c) coupling_[c] += gradients_[3 * k * size_ + c];
    }
    num_rows_ += rows;
    AddSquares(rows);
    return absl::OkStatus();
  }

  void MakeRows(int64_t s, double* rows, Worker* worker, double* gradients, Part* part) const {
    std::vector<StructureOutput>& outputs = worker->outputs;
    part->status = worker->rows.Predict(data_, s, &outputs, &part->terms);
    if (!part->status.ok() || outputs.empty()) return;
    const auto n = static_cast<int64_t>(outputs.size());
    std::vector<double>& slopes = worker->slopes;
    slopes.resize(n);
    for (const StructureOutput& output : outputs) part->loss += output.curvature * output.error * output.error;
    if (options_.probes == 0 || n <= options_.probes) {
      for (int64_t k = 0; k < n; ++k) slopes[k] = std::sqrt(outputs[k].curvature);
      worker->rows.All(slopes, rows);
    } else {
      const double share = 1 / std::sqrt(static_cast<double>(options_.probes));
      for (int p = 0; p < options_.probes; ++p) {
        RandomStream signs(options_.seed, "gauss-newton", s, p);
        for (int64_t k = 0; k < n; ++k) {
          slopes[k] = (signs.Next() >> 63 != 0 ? share : -share) * std::sqrt(outputs[k].curvature);
        }
        worker->rows.Combination(slopes, rows + p * size_);
      }
    }
    if (gradients == nullptr) return;
    for (int t = 0; t < 3; ++t) {
      for (int64_t k = 0; k < n; ++k) slopes[k] = outputs[k].term == t ? outputs[k].slope : 0;
      if (part->terms.count[t] > 0) worker->rows.Combination(slopes, gradients + t * size_);
    }
  }

  void AddSquares(int64_t rows) {
    const MatrixView<double> tile{tile_.data(), rows, size_, size_, false};
    pool_->For(size_, kMatrixRows, [&](int64_t begin, int64_t end, int) {
      MultiplyDense(tile.Transposed().Rows(begin, end), tile.Columns(0, end), /*add=*/true,
                    matrix_.data() + begin * size_, size_);
    });
  }

  const GradientFormulas& formulas_;
  const AtomicData& data_;
  const GaussNewtonOptions& options_;
  const int64_t size_;
  ThreadPool* const pool_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<double> tile_, gradients_;
  std::vector<Part> parts_;
};

// Transposes [rows, columns].
std::vector<double> Transposed(int64_t rows, int64_t columns, const double* from) {
  std::vector<double> to(rows * columns);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) to[j * rows + i] = from[i * columns + j];
  }
  return to;
}

// Overwrites `to` [rows, columns] with `scale` times the transpose of `from` [columns, rows].
void StoreTransposed(int64_t rows, int64_t columns, const std::vector<double>& from, double scale, double* to) {
  for (int64_t i = 0; i < columns; ++i) {
    for (int64_t r = 0; r < rows; ++r) to[r * columns + i] = scale * from[i * rows + r];
  }
}

// Returns tr(D (H + D)^-1) from the factor of H + D.
double TraceOfDamping(int64_t size, const double* factor, const std::vector<double>& damping, ThreadPool* pool) {
  constexpr int64_t kSides = 256;
  double trace = 0;
  for (int64_t first = 0; first < size; first += kSides) {
    const int64_t sides = std::min(kSides, size - first), rest = size - first;
    std::vector<double> b(rest * sides, 0.0);
    for (int64_t s = 0; s < sides; ++s) b[s * sides + s] = std::sqrt(damping[first + s]);
    // Above `first` the solution is 0: the lower right part of the factor suffices.
    SolveLower(rest, factor + first * size + first, size, sides, b.data(), pool);
    for (const double each : b) trace += each * each;
  }
  return trace;
}

}  // namespace

absl::StatusOr<std::unique_ptr<GaussNewton>> GaussNewton::Make(const GradientFormulas& formulas, const AtomicData& data,
                                                               const std::vector<ColumnRange>& columns,
                                                               const GaussNewtonOptions& options, ThreadPool* pool) {
  auto result = std::unique_ptr<GaussNewton>(new GaussNewton());
  int64_t size = 0;
  for (const ColumnRange& range : columns) size += range.size();
  // With roots there is a copy without what H loses, in case that this makes the matrix indefinite.
  const double bytes =
      (options.coupling == LossCoupling::kRoots ? 16.0 : 8.0) * static_cast<double>(size) * static_cast<double>(size);
  if (options.memory_limit > 0 && bytes > static_cast<double>(options.memory_limit)) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "the Gauss-Newton matrix of %d parameters takes %.1f GB, and %.1f GB are allowed: fewer parameters "
        "(--params, --use_last_layers_only), or more --max_bytes",
        size, bytes / 1e9, static_cast<double>(options.memory_limit) / 1e9));
  }
  Sums sums(formulas, data, columns, options, size, pool);
  RETURN_IF_ERROR(sums.Add());
  const auto n = static_cast<double>(options.examples.size());
  result->size_ = size;
  result->num_examples_ = static_cast<int64_t>(options.examples.size());
  result->num_outputs_ = sums.num_outputs_;
  result->num_rows_ = sums.num_rows_;
  result->sums_ = sums.sums_;
  result->loss_sum_ = sums.loss_sum_ / n;
  std::vector<double>& matrix = sums.matrix_;
  for (double& each : matrix) each /= n;
  for (double& each : sums.coupling_) each /= n;
  double trace = 0;
  for (int64_t c = 0; c < size; ++c) trace += matrix[c * size + c];
  if (!(trace > 0) || !std::isfinite(trace)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the Gauss-Newton matrix has the trace ", trace,
                     ": no structure has an output that counts, or a prediction is not finite"));
  }
  result->trace_ = trace;
  result->is_damped_by_trace_ = options.damping.empty();
  std::vector<double> damping;
  for (const ColumnRange& range : columns) {
    for (int64_t p = range.begin; p < range.end; ++p) {
      damping.push_back(options.damping.empty() ? options.trace_damping * trace / static_cast<double>(size)
                                                : options.damping[p]);
    }
  }
  for (int64_t c = 0; c < size; ++c) matrix[c * size + c] += damping[c];
  result->mean_damping_ = 0;
  for (const double each : damping) result->mean_damping_ += each / static_cast<double>(size);
  result->coupling_ = options.coupling;
  result->term_gradients_ = std::move(sums.coupling_);
  const bool has_roots = options.coupling == LossCoupling::kRoots;
  const std::vector<double> whole = has_roots ? matrix : std::vector<double>();
  const double weights[3] = {formulas.weights.energy, formulas.weights.force, formulas.weights.stress};
  for (int t = 0; t < 3 && has_roots; ++t) {
    // The weights of formulas are those of l: n times those of L.
    const double loss = 2 * weights[t] / n * result->sums_.sum[t];
    if (!(loss > 0)) continue;
    const double* const u = &result->term_gradients_[t * size];
    for (int64_t i = 0; i < size; ++i) {
      for (int64_t j = 0; j <= i; ++j) matrix[i * size + j] -= u[i] * u[j] / loss;
    }
    ++result->num_downdates_;
  }
  bool factored = FactorCholesky(size, matrix.data(), pool);
  if (!factored && result->num_downdates_ > 0) {
    result->num_downdates_ = 0;
    matrix = whole;
    factored = FactorCholesky(size, matrix.data(), pool);
  }
  if (!factored) {
    return absl::InvalidArgumentError(absl::StrCat("the Gauss-Newton matrix with a mean damping of ",
                                                   result->mean_damping_,
                                                   " is not positive definite to rounding: more --damping"));
  }
  result->factor_ = std::move(matrix);
  result->effective_parameters_ =
      size > kMaxTraceSize ? std::numeric_limits<double>::quiet_NaN()
                           : static_cast<double>(size) - TraceOfDamping(size, result->factor_.data(), damping, pool);
  return result;
}

double GaussNewton::noise() const {
  const double spent = std::isnan(effective_parameters_) ? 0 : effective_parameters_;
  return loss_sum_ * static_cast<double>(num_examples_) / (static_cast<double>(num_outputs_) - spent);
}

std::vector<double> GaussNewton::Factor() const {
  const double root = std::sqrt(static_cast<double>(num_examples_));
  std::vector<double> factor(factor_.size(), 0.0);
  for (int64_t i = 0; i < size_; ++i) {
    for (int64_t j = 0; j <= i; ++j) factor[i * size_ + j] = root * factor_[i * size_ + j];
  }
  return factor;
}

std::string GaussNewton::Describe() const {
  std::string text = absl::StrFormat("Gauss-Newton matrix of %d parameters from %d outputs of %d structures", size_,
                                     num_outputs_, num_examples_);
  if (num_rows_ < num_outputs_) absl::StrAppend(&text, " (", num_rows_, " probes)");
  absl::StrAppendFormat(&text, "; mean damping %.3g%s, mean curvature %.3g", mean_damping_,
                        is_damped_by_trace_ ? " by the trace" : "", trace_ / static_cast<double>(size_));
  if (!std::isnan(effective_parameters_)) {
    absl::StrAppendFormat(&text, "; the data decide %.1f parameters", effective_parameters_);
  }
  if (coupling_ == LossCoupling::kRoots && num_downdates_ == 0) {
    absl::StrAppend(&text,
                    "; the coupling of roots of means is left out of the matrix, which it would make indefinite");
  }
  return text;
}

void GaussNewton::SolveHalf(int64_t rows, double* vectors, ThreadPool* pool) const {
  std::vector<double> sides = Transposed(rows, size_, vectors);
  SolveLower(size_, factor_.data(), size_, rows, sides.data(), pool);
  StoreTransposed(rows, size_, sides, 1 / std::sqrt(static_cast<double>(num_examples_)), vectors);
}

void GaussNewton::Solve(int64_t rows, double* vectors, ThreadPool* pool) const {
  std::vector<double> sides = Transposed(rows, size_, vectors);
  SolveLower(size_, factor_.data(), size_, rows, sides.data(), pool);
  SolveLowerTransposed(size_, factor_.data(), size_, rows, sides.data(), pool);
  StoreTransposed(rows, size_, sides, 1 / static_cast<double>(num_examples_), vectors);
}

void GaussNewton::Couple(const StructureTerms& terms, double* gradient) const {
  if (!is_coupled()) return;
  const auto n = static_cast<double>(num_examples_);
  for (int t = 0; t < 3; ++t) {
    if (!(sums_.sum[t] > 0) || terms.count[t] == 0) continue;
    const double share = terms.count[t] / sums_.count[t];
    const double factor =
        coupling_ == LossCoupling::kMeans ? n * share : 0.5 * n * (terms.sum[t] / sums_.sum[t] + share);
    const double* const u = &term_gradients_[t * size_];
    for (int64_t c = 0; c < size_; ++c) gradient[c] -= factor * u[c];
  }
}

}  // namespace rutile
