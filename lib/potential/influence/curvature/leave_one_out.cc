#include "lib/potential/influence/curvature/leave_one_out.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "lib/base/interrupt.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/machine/parallel_for.h"
#include "lib/matrix/cholesky.h"
#include "lib/matrix/dense_products.h"
#include "lib/potential/influence/curvature/gauss_newton.h"
#include "lib/potential/influence/output_rows.h"
#include "lib/potential/model/labels/learned_labels.h"

namespace rutile {
namespace {

// Rows that are solved between two looks at signals: seconds for tens of thousands of parameters.
constexpr int64_t kSolvedRows = 64;

// Returns the errors of outputs, each of which changes by `change`.
LeftOutErrors ErrorsOf(const std::vector<StructureOutput>& outputs, const std::vector<double>& change) {
  double sum[3] = {}, count[3] = {};
  LeftOutErrors errors;
  errors.energy = errors.force = errors.stress = std::numeric_limits<double>::quiet_NaN();
  for (size_t k = 0; k < outputs.size(); ++k) {
    const double error = outputs[k].error + change[k];
    if (outputs[k].term == 0) errors.energy = error;
    sum[outputs[k].term] += error * error;
    count[outputs[k].term] += 1;
  }
  if (count[1] > 0) errors.force = std::sqrt(sum[1] / count[1]);
  if (count[2] > 0) errors.stress = std::sqrt(sum[2] / count[2]);
  return errors;
}

// Fills the measures of one structure from G [n, n], and `moved` with x [n]. Cook's distance is set to x^T G x, of
// which the caller takes off what is of the damping. Returns false where it is infinite.
bool Measure(const std::vector<StructureOutput>& outputs, const std::vector<double>& g, std::vector<double>* moved,
             LeftOut* out) {
  const auto n = static_cast<int64_t>(outputs.size());
  std::vector<double> root(n), v(n, 0.0), rest(n * n), change(n, 0.0);
  std::vector<double>& x = *moved;
  x.assign(n, 0.0);
  out->with = ErrorsOf(outputs, change);
  out->leverage = out->self_influence = 0;
  for (int64_t k = 0; k < n; ++k) {
    root[k] = std::sqrt(outputs[k].curvature);
    out->leverage += outputs[k].curvature * g[k * n + k];
  }
  // (1 - B) v = sqrt(c) G slopes; x = slopes + sqrt(c) v.
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      rest[i * n + j] = (i == j ? 1.0 : 0.0) - root[i] * g[i * n + j] * root[j];
      v[i] += root[i] * g[i * n + j] * outputs[j].slope;
      out->self_influence += outputs[i].slope * g[i * n + j] * outputs[j].slope;
    }
  }
  if (!FactorCholesky(n, rest.data())) {
    const double infinity = std::numeric_limits<double>::infinity();
    out->without = out->with;
    for (double* each : {&out->without.energy, &out->without.force, &out->without.stress}) {
      if (!std::isnan(*each)) *each = infinity;
    }
    out->cook = infinity;
    return false;
  }
  SolveLower(n, rest.data(), n, 1, v.data());
  SolveLowerTransposed(n, rest.data(), n, 1, v.data());
  for (int64_t k = 0; k < n; ++k) x[k] = outputs[k].slope + root[k] * v[k];
  double square = 0;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) change[i] += g[i * n + j] * x[j];
    square += x[i] * change[i];
  }
  out->cook = square;
  out->without = ErrorsOf(outputs, change);
  return true;
}

}  // namespace

absl::StatusOr<LeaveOneOut> ComputeLeaveOneOut(const Potential& potential, const AtomicData& given,
                                               const WeightedCheckpoint& point, const std::vector<ColumnRange>& columns,
                                               const PotentialProductsOptions& options) {
  CHECK(options.gauss_newton.has_value());
  RETURN_IF_ERROR(CheckPotentialProducts(potential, point, options));
  if (options.gauss_newton->ek_fac) {
    return absl::InvalidArgumentError("leave-one-out errors need the whole Gauss-Newton matrix, and EK-FAC has blocks");
  }
  ASSIGN_OR_RETURN(const AtomicData train, LearnedLabels(given, potential.repulsion, options.num_threads));
  ASSIGN_OR_RETURN(const TermWeights weights, TermWeightsOf(options.loss, point.loss_weight));
  Potential at_point = potential;
  at_point.parameters = point.parameters;
  const GradientFormulas formulas(at_point, options.loss, weights, options.angular);
  ThreadPool pool(options.num_threads);
  GaussNewtonOptions uncoupled = *options.gauss_newton;
  uncoupled.coupling = LossCoupling::kNone;
  uncoupled.probes = 0;  // each structure's own rows must be in the matrix
  ASSIGN_OR_RETURN(const std::unique_ptr<GaussNewton> matrix,
                   GaussNewton::Make(formulas, train, columns, uncoupled, &pool));
  const std::vector<int64_t>& examples = uncoupled.examples;
  const double decided = matrix->effective_parameters();
  const auto num_examples = static_cast<double>(examples.size());
  const double scale =
      (static_cast<double>(matrix->num_outputs()) - decided) / (decided * matrix->loss_sum() * num_examples);
  LeaveOneOut result;
  result.notes = matrix->Describe();
  result.structures.resize(examples.size());
  struct Worker {
    Worker(const GradientFormulas& formulas, const std::vector<ColumnRange>& columns) : rows(formulas, columns) {}
    OutputRows rows;
    std::vector<StructureOutput> outputs;
    std::vector<double> ones, row, gram, x, change;
  };
  std::vector<std::unique_ptr<Worker>> workers(options.num_threads);
  for (auto& worker : workers) worker = std::make_unique<Worker>(formulas, columns);
  std::vector<absl::Status> status(examples.size());
  pool.For(static_cast<int64_t>(examples.size()), 1, [&](int64_t begin, int64_t end, int index) {
    Worker& worker = *workers[index];
    for (int64_t e = begin; e < end; ++e) {
      LeftOut& out = result.structures[e];
      out.structure = examples[e];
      StructureTerms terms;
      status[e] = CheckInterrupt();
      if (status[e].ok()) status[e] = worker.rows.Predict(train, examples[e], &worker.outputs, &terms);
      if (!status[e].ok()) continue;
      const auto n = static_cast<int64_t>(worker.outputs.size());
      worker.ones.assign(n, 1.0);
      worker.row.resize(n * matrix->size());
      worker.gram.assign(n * n, 0.0);
      if (n > 0) {
        worker.rows.All(worker.ones, worker.row.data());
        for (int64_t first = 0; first < n && status[e].ok(); first += kSolvedRows) {
          matrix->SolveHalf(std::min(kSolvedRows, n - first), &worker.row[first * matrix->size()], nullptr);
          status[e] = CheckInterrupt();
        }
        if (!status[e].ok()) continue;
        const MatrixView<double> half{worker.row.data(), n, matrix->size(), matrix->size(), false};
        MultiplyDense(half, half.Transposed(), /*add=*/false, worker.gram.data(), n);
      }
      out.loss = weights.energy * terms.sum[0] + weights.force * terms.sum[1] + weights.stress * terms.sum[2];
      if (!Measure(worker.outputs, worker.gram, &worker.x, &out) || n == 0) continue;
      // The change of the parameters, K J^T x.
      worker.change.resize(matrix->size());
      worker.rows.Combination(worker.x, worker.change.data());
      matrix->Solve(1, worker.change.data(), nullptr);
      double of_damping = 0;
      for (int64_t c = 0; c < matrix->size(); ++c) {
        of_damping += matrix->damping()[c] * worker.change[c] * worker.change[c];
      }
      // Rounding may leave less than nothing of a change that no output feels.
      out.cook = scale * std::max(0.0, out.cook - num_examples * of_damping);
    }
  });
  for (const absl::Status& each : status) RETURN_IF_ERROR(each);
  return result;
}

}  // namespace rutile
