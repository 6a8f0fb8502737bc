#include "lib/potential/influence/curvature/gauss_newton.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/interrupt.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/matrix/dense_products.h"
#include "lib/matrix/matrix_view.h"
#include "lib/potential/influence/curvature/ek_fac.h"
#include "lib/potential/influence/curvature/loss_rows.h"
#include "lib/potential/model/potential_file.h"

namespace rutile {
namespace {

// Rows that are made before they are added to the matrix, at least.
constexpr int64_t kTileRows = 1024;
// Structures whose gradients by term are made before they are added up, where rows are kept.
constexpr int64_t kCoupledStructures = 64;
// Rows of the matrix that one thread updates at a time.
constexpr int64_t kMatrixRows = 128;

// What the forms of the inverse are made of: sums over structures, not means.
struct Sums {
  LossTotals totals;
  double trace = 0;                  // of H
  std::vector<double> rows, matrix;  // [R, C], or the lower triangle of H [C, C], or empty
  std::unique_ptr<EkFac> ek_fac;     // or null
};

// Numbers of the tiles of EK-FAC, about, and the rows that are made before they are multiplied, at least.
constexpr int64_t kEkFacNumbers = int64_t{1} << 22, kEkFacRows = 64;

int64_t EkFacTileRows(int64_t size) { return std::clamp(kEkFacNumbers / size, kEkFacRows, kTileRows); }

// Bytes that the form takes which `options` ask for, and whether it is by rows.
struct FormCost {
  FormCost(const LossRows& rows, const std::vector<KroneckerBlock>& blocks, const GaussNewtonOptions& options)
      : matrix(BytesOfMatrixInverse(rows.size()) * (options.coupling == LossCoupling::kRoots ? 2 : 1)),
        by_rows(BytesOfRowsInverse(rows.num_rows(), rows.size())),
        keeps_rows(!options.ek_fac && by_rows < matrix) {
    if (!options.ek_fac) return;
    // A tile ends with a structure. It comes three times: as rows, in the order of a block, and multiplied.
    const int64_t tile = std::min(EkFacTileRows(rows.size()) - 1 + rows.most_rows(), rows.num_rows());
    const int64_t gradients = options.coupling == LossCoupling::kNone ? 0 : 3 * kCoupledStructures;
    ek_fac = EkFac::Bytes(blocks) + 8.0 * static_cast<double>((3 * tile + gradients) * rows.size());
  }
  double taken() const { return ek_fac > 0 ? ek_fac : keeps_rows ? by_rows : matrix; }

  double matrix, by_rows, ek_fac = 0;
  bool keeps_rows;
};

absl::Status CheckFits(const FormCost& cost, int64_t size, int64_t limit) {
  if (limit <= 0 || cost.taken() <= static_cast<double>(limit)) return absl::OkStatus();
  const double allowed = static_cast<double>(limit) / 1e9;
  if (cost.ek_fac > 0) {
    return absl::ResourceExhaustedError(
        absl::StrFormat("the bases of EK-FAC of %d parameters and a tile of rows take %.1f GB, and %.1f GB are "
                        "allowed: fewer parameters (--params, --use_last_layers_only), or more --max_bytes",
                        size, cost.ek_fac / 1e9, allowed));
  }
  return absl::ResourceExhaustedError(absl::StrFormat(
      "the Gauss-Newton matrix of %d parameters takes %.1f GB, its rows %.1f GB, and %.1f GB are allowed: fewer "
      "parameters (--params, --use_last_layers_only), fewer --probes, more --max_bytes, or of scores "
      "--precondition=ek-fac",
      size, cost.matrix / 1e9, cost.by_rows / 1e9, allowed));
}

absl::Status KeepRows(LossRows* rows, bool is_coupled, Sums* sums) {
  const int64_t size = rows->size();
  sums->rows.assign(rows->num_rows() * size, 0.0);
  int64_t made = 0;
  RETURN_IF_ERROR(rows->Make(
      kTileRows, is_coupled ? kCoupledStructures : std::numeric_limits<int64_t>::max(), &sums->totals,
      [&](int64_t) { return sums->rows.data() + made * size; }, [&](int64_t count, const double*) { made += count; }));
  for (const double each : sums->rows) sums->trace += each * each;
  return absl::OkStatus();
}

absl::Status AddMatrix(LossRows* rows, ThreadPool* pool, Sums* sums) {
  const int64_t size = rows->size();
  std::vector<double>& matrix = sums->matrix;
  matrix.assign(size * size, 0.0);
  std::vector<double> memory;
  RETURN_IF_ERROR(rows->Make(
      kTileRows, std::numeric_limits<int64_t>::max(), &sums->totals,
      [&](int64_t count) {
        memory.resize(count * size);
        return memory.data();
      },
      [&](int64_t count, const double* numbers) {
        const MatrixView<double> tile{numbers, count, size, size, false};
        pool->For(size, kMatrixRows, [&](int64_t begin, int64_t end, int) {
          if (InterruptSignal() != 0) return;
          MultiplyDense(tile.Transposed().Rows(begin, end), tile.Columns(0, end), /*add=*/true,
                        matrix.data() + begin * size, size);
        });
      }));
  RETURN_IF_ERROR(CheckInterrupt());
  for (int64_t c = 0; c < size; ++c) sums->trace += matrix[c * size + c];
  return absl::OkStatus();
}

// Goes through the rows twice: the eigenvalues need the bases.
absl::Status AddEkFac(LossRows* rows, const std::vector<KroneckerBlock>& blocks, std::vector<double> inverse_root,
                      bool is_coupled, ThreadPool* pool, Sums* sums) {
  const int64_t size = rows->size(), most = is_coupled ? kCoupledStructures : std::numeric_limits<int64_t>::max();
  sums->ek_fac = std::make_unique<EkFac>(blocks, std::move(inverse_root));
  EkFac& ek_fac = *sums->ek_fac;
  std::vector<double> memory;
  const auto room = [&](int64_t count) {
    memory.resize(count * size);
    return memory.data();
  };
  RETURN_IF_ERROR(rows->Make(EkFacTileRows(size), most, &sums->totals, room,
                             [&](int64_t count, const double* tile) { ek_fac.AddFactors(count, tile, pool); }));
  sums->trace = ek_fac.trace();
  if (!std::isfinite(sums->trace)) return absl::OkStatus();  // there are no bases then, and the caller says so
  if (!ek_fac.MakeBases(pool)) {
    return absl::InvalidArgumentError("the factors of EK-FAC have no eigenvectors to rounding: give more --damping");
  }
  return rows->Make(EkFacTileRows(size), most, /*totals=*/nullptr, room,
                    [&](int64_t count, const double* tile) { ek_fac.AddSquares(count, tile, pool); });
}

}  // namespace

absl::StatusOr<std::unique_ptr<GaussNewton>> GaussNewton::Make(const GradientFormulas& formulas, const AtomicData& data,
                                                               const std::vector<ColumnRange>& columns,
                                                               const GaussNewtonOptions& options, ThreadPool* pool) {
  auto result = std::unique_ptr<GaussNewton>(new GaussNewton());
  LossRows rows(formulas, data, columns, options.examples, options.probes, options.seed, pool);
  const int64_t size = rows.size();
  std::vector<KroneckerBlock> blocks;
  if (options.ek_fac) {
    blocks = KroneckerBlocks(NetworkSlices(formulas.potential.descriptor, formulas.potential.shape), columns);
  }
  const FormCost cost(rows, blocks, options);
  RETURN_IF_ERROR(CheckFits(cost, size, options.memory_limit));
  // D of each column; with trace_damping what it is a multiple of.
  std::vector<double> damping(size, 1.0);
  if (!options.damping.empty()) {
    auto next = damping.begin();
    for (const ColumnRange& range : columns) next = std::copy_n(&options.damping[range.begin], range.size(), next);
  }
  Sums sums;
  if (options.coupling != LossCoupling::kNone) sums.totals.gradient.assign(3 * size, 0.0);
  if (options.ek_fac) {
    std::vector<double> inverse_root;
    for (const double each : damping) inverse_root.push_back(1 / std::sqrt(each));
    RETURN_IF_ERROR(
        AddEkFac(&rows, blocks, std::move(inverse_root), options.coupling != LossCoupling::kNone, pool, &sums));
  } else if (cost.keeps_rows) {
    RETURN_IF_ERROR(KeepRows(&rows, options.coupling != LossCoupling::kNone, &sums));
  } else {
    RETURN_IF_ERROR(AddMatrix(&rows, pool, &sums));
  }
  const auto n = static_cast<double>(options.examples.size());
  result->size_ = size;
  result->num_examples_ = static_cast<int64_t>(options.examples.size());
  result->num_outputs_ = sums.totals.num_outputs;
  result->num_rows_ = rows.num_rows();
  result->sums_ = sums.totals.terms;
  result->loss_sum_ = sums.totals.loss / n;
  for (double& each : sums.matrix) each /= n;
  for (double& each : sums.rows) each /= std::sqrt(n);
  for (double& each : sums.totals.gradient) each /= n;
  const double trace = sums.trace / n;
  if (!(trace > 0) || !std::isfinite(trace)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the Gauss-Newton matrix has the trace ", trace,
                     ": no structure has an output that counts, or a prediction is not finite"));
  }
  result->trace_ = trace;
  result->is_damped_by_trace_ = options.damping.empty();
  const double unit = options.damping.empty() ? options.trace_damping * trace / static_cast<double>(size) : 1;
  for (double& each : damping) each *= unit;
  result->mean_damping_ = 0;
  for (const double each : damping) result->mean_damping_ += each / static_cast<double>(size);
  result->coupling_ = options.coupling;
  result->term_gradients_ = std::move(sums.totals.gradient);
  CurvatureLosses losses;
  const double weights[3] = {formulas.weights.energy, formulas.weights.force, formulas.weights.stress};
  for (int t = 0; t < 3 && options.coupling == LossCoupling::kRoots && !options.ek_fac; ++t) {
    // The weights of formulas are those of l: n times those of L.
    const double loss = 2 * weights[t] / n * result->sums_.sum[t];
    if (!(loss > 0)) continue;
    const auto u = result->term_gradients_.begin() + t * size;
    losses.vectors.insert(losses.vectors.end(), u, u + size);
    losses.divisor.push_back(loss);
  }
  result->num_blocks_ = static_cast<int>(blocks.size());
  result->has_rows_ = cost.keeps_rows;
  bool* const lost = &result->counts_roots_;
  if (options.ek_fac) {
    result->inverse_ = sums.ek_fac->Inverse(1 / n, unit);
  } else if (cost.keeps_rows) {
    result->inverse_ = InverseOfRows(std::move(sums.rows), damping, losses, pool, lost);
  } else {
    result->inverse_ = InverseOfMatrix(std::move(sums.matrix), damping, losses, pool, lost);
  }
  if (result->inverse_ == nullptr) {
    RETURN_IF_ERROR(CheckInterrupt());
    return absl::InvalidArgumentError(absl::StrCat("the Gauss-Newton matrix with a mean damping of ",
                                                   result->mean_damping_,
                                                   " is not positive definite to rounding: more --damping"));
  }
  result->effective_parameters_ = static_cast<double>(size) - result->inverse_->damping_trace();
  result->damping_ = std::move(damping);
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
  if (has_rows_) absl::StrAppend(&text, ", by its rows");
  if (num_blocks_ > 0) absl::StrAppend(&text, ", by EK-FAC in ", num_blocks_, " blocks");
  absl::StrAppendFormat(&text, "; mean damping %.3g%s, mean curvature %.3g", mean_damping_,
                        is_damped_by_trace_ ? " by the trace" : "", trace_ / static_cast<double>(size_));
  if (!std::isnan(effective_parameters_)) {
    absl::StrAppendFormat(&text, "; the data decide %.1f parameters", effective_parameters_);
  }
  if (coupling_ == LossCoupling::kRoots && !counts_roots_) {
    absl::StrAppend(&text, "; the coupling of roots of means is left out of the matrix, ",
                    num_blocks_ > 0 ? "whose blocks it would make nearly singular" : "which it would make indefinite");
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
