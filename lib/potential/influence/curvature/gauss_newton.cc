#include "lib/potential/influence/curvature/gauss_newton.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/logging.h"
#include "lib/base/random.h"
#include "lib/base/status_macros.h"
#include "lib/matrix/dense_products.h"
#include "lib/matrix/matrix_view.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

// Rows that are made before they are added to the matrix, at least.
constexpr int64_t kTileRows = 1024;
// Structures whose gradients by term are made before they are added up, where rows are kept.
constexpr size_t kCoupledStructures = 64;
// Rows of the matrix that one thread updates at a time.
constexpr int64_t kMatrixRows = 128;

// Keeps rows, or adds them to H by tiles; adds up the gradients of terms for the coupling.
class Sums {
 public:
  Sums(const GradientFormulas& formulas, const AtomicData& data, const std::vector<ColumnRange>& columns,
       const GaussNewtonOptions& options, int64_t size, ThreadPool* pool)
      : formulas_(formulas), data_(data), options_(options), size_(size), pool_(pool) {
    int64_t all_rows = 0;
    for (const int64_t s : options.examples) all_rows += RowsOf(s);
    matrix_bytes_ = BytesOfMatrixInverse(size) * (options.coupling == LossCoupling::kRoots ? 2 : 1);
    rows_bytes_ = BytesOfRowsInverse(all_rows, size);
    keeps_rows_ = rows_bytes_ < matrix_bytes_;
    if (!fits()) return;
    (keeps_rows_ ? rows_ : matrix_).assign((keeps_rows_ ? all_rows : size) * size, 0.0);
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
      const size_t most = keeps_rows_ && is_coupled() ? kCoupledStructures : examples.size();
      while (end < examples.size() && end - first < most && (rows == 0 || rows < kTileRows)) {
        offset.push_back(rows);
        rows += RowsOf(examples[end++]);
      }
      RETURN_IF_ERROR(AddTile(absl::MakeConstSpan(&examples[first], end - first), offset, rows));
      first = end;
    }
    return absl::OkStatus();
  }

  // True if the form that is taken fits in the memory that is allowed; else nothing was prepared.
  bool fits() const {
    const double bytes = keeps_rows_ ? rows_bytes_ : matrix_bytes_;
    return options_.memory_limit <= 0 || bytes <= static_cast<double>(options_.memory_limit);
  }

  bool keeps_rows_ = false;
  // Sums over structures, not means: one of the lower triangle of H [C, C], and its rows [R, C].
  std::vector<double> matrix_, rows_;
  std::vector<double> coupling_;  // [3, C] gradients of the terms' sums with their weights
  StructureTerms sums_;
  int64_t num_outputs_ = 0, num_rows_ = 0;
  double loss_sum_ = 0, matrix_bytes_ = 0, rows_bytes_ = 0;

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
    if (!keeps_rows_) tile_.resize(rows * size_);
    double* const tile = keeps_rows_ ? rows_.data() + num_rows_ * size_ : tile_.data();
    parts_.assign(n, Part());
    if (is_coupled()) gradients_.assign(3 * n * size_, 0.0);
    data_.Prefetch(examples);
    pool_->For(n, 1, [&](int64_t begin, int64_t end, int index) {
      for (int64_t k = begin; k < end; ++k) {
        MakeRows(examples[k], tile + offset[k] * size_, workers_[index].get(),
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
    if (!keeps_rows_) AddSquares(rows);
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

}  // namespace

absl::StatusOr<std::unique_ptr<GaussNewton>> GaussNewton::Make(const GradientFormulas& formulas, const AtomicData& data,
                                                               const std::vector<ColumnRange>& columns,
                                                               const GaussNewtonOptions& options, ThreadPool* pool) {
  auto result = std::unique_ptr<GaussNewton>(new GaussNewton());
  int64_t size = 0;
  for (const ColumnRange& range : columns) size += range.size();
  Sums sums(formulas, data, columns, options, size, pool);
  if (!sums.fits()) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "the Gauss-Newton matrix of %d parameters takes %.1f GB, its rows %.1f GB, and %.1f GB are allowed: fewer "
        "parameters (--params, --use_last_layers_only), fewer --probes, or more --max_bytes",
        size, sums.matrix_bytes_ / 1e9, sums.rows_bytes_ / 1e9, static_cast<double>(options.memory_limit) / 1e9));
  }
  RETURN_IF_ERROR(sums.Add());
  const auto n = static_cast<double>(options.examples.size());
  result->size_ = size;
  result->num_examples_ = static_cast<int64_t>(options.examples.size());
  result->num_outputs_ = sums.num_outputs_;
  result->num_rows_ = sums.num_rows_;
  result->sums_ = sums.sums_;
  result->loss_sum_ = sums.loss_sum_ / n;
  for (double& each : sums.matrix_) each /= n;
  for (double& each : sums.rows_) each /= std::sqrt(n);
  for (double& each : sums.coupling_) each /= n;
  double trace = 0;
  for (int64_t c = 0; c < size && !sums.keeps_rows_; ++c) trace += sums.matrix_[c * size + c];
  for (const double each : sums.rows_) trace += each * each;
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
  result->mean_damping_ = 0;
  for (const double each : damping) result->mean_damping_ += each / static_cast<double>(size);
  result->coupling_ = options.coupling;
  result->term_gradients_ = std::move(sums.coupling_);
  CurvatureLosses losses;
  const double weights[3] = {formulas.weights.energy, formulas.weights.force, formulas.weights.stress};
  for (int t = 0; t < 3 && options.coupling == LossCoupling::kRoots; ++t) {
    // The weights of formulas are those of l: n times those of L.
    const double loss = 2 * weights[t] / n * result->sums_.sum[t];
    if (!(loss > 0)) continue;
    const auto u = result->term_gradients_.begin() + t * size;
    losses.vectors.insert(losses.vectors.end(), u, u + size);
    losses.divisor.push_back(loss);
  }
  result->has_matrix_ = !sums.keeps_rows_;
  result->inverse_ = sums.keeps_rows_
                         ? InverseOfRows(std::move(sums.rows_), damping, losses, pool, &result->counts_roots_)
                         : InverseOfMatrix(std::move(sums.matrix_), damping, losses, pool, &result->counts_roots_);
  if (result->inverse_ == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("the Gauss-Newton matrix with a mean damping of ",
                                                   result->mean_damping_,
                                                   " is not positive definite to rounding: more --damping"));
  }
  result->effective_parameters_ = static_cast<double>(size) - result->inverse_->damping_trace();
  return result;
}

double GaussNewton::noise() const {
  const double spent = std::isnan(effective_parameters_) ? 0 : effective_parameters_;
  return loss_sum_ * static_cast<double>(num_examples_) / (static_cast<double>(num_outputs_) - spent);
}

std::unique_ptr<InverseCurvature> GaussNewton::TakeInverseOfSum() {
  inverse_->Multiply(static_cast<double>(num_examples_));
  return std::move(inverse_);
}

std::string GaussNewton::Describe() const {
  std::string text = absl::StrFormat("Gauss-Newton matrix of %d parameters from %d outputs of %d structures", size_,
                                     num_outputs_, num_examples_);
  if (num_rows_ < num_outputs_) absl::StrAppend(&text, " (", num_rows_, " probes)");
  if (!has_matrix_) absl::StrAppend(&text, ", by its rows");
  absl::StrAppendFormat(&text, "; mean damping %.3g%s, mean curvature %.3g", mean_damping_,
                        is_damped_by_trace_ ? " by the trace" : "", trace_ / static_cast<double>(size_));
  if (!std::isnan(effective_parameters_)) {
    absl::StrAppendFormat(&text, "; the data decide %.1f parameters", effective_parameters_);
  }
  if (coupling_ == LossCoupling::kRoots && !counts_roots_) {
    absl::StrAppend(&text,
                    "; the coupling of roots of means is left out of the matrix, which it would make indefinite");
  }
  return text;
}

void GaussNewton::SolveHalf(int64_t rows, double* vectors, ThreadPool* pool) const {
  inverse_->SolveHalf(rows, vectors, pool);
  const double scale = 1 / std::sqrt(static_cast<double>(num_examples_));
  for (int64_t k = 0; k < rows * size_; ++k) vectors[k] *= scale;
}

void GaussNewton::Solve(int64_t rows, double* vectors, ThreadPool* pool) const {
  inverse_->Solve(rows, vectors, pool);
  const double scale = 1 / static_cast<double>(num_examples_);
  for (int64_t k = 0; k < rows * size_; ++k) vectors[k] *= scale;
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
