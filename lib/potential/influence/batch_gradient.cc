#include "lib/potential/influence/batch_gradient.h"

#include <algorithm>
#include <numeric>

#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/potential/influence/gradient_example.h"
#include "lib/potential/model/loss_function.h"
#include "lib/task/loss_terms.h"

namespace rutile {
namespace {

// Structures whose gradients are made before they are added up.
constexpr int64_t kChunk = 64;

// Weights of 1 for the terms of the loss, so that rows are of sums of losses.
TermWeights UnitWeights(const LossOptions& loss) {
  return {loss.energy_weight > 0 ? 1.0 : 0.0, loss.force_weight > 0 ? 1.0 : 0.0, loss.stress_weight > 0 ? 1.0 : 0.0};
}

void AddTo(const std::vector<double>& from, double factor, double* to) {
  for (size_t p = 0; p < from.size(); ++p) to[p] += factor * from[p];
}

}  // namespace

BatchGradients::Worker::Worker(const Potential& potential, const LossOptions& loss, const TermWeights& weights,
                               AngularMethod method)
    : formulas(potential, loss, weights, method), rows(formulas, {{0, potential.shape.num_parameters()}}) {}

BatchGradients::BatchGradients(const Potential& potential, const LossOptions& loss, AngularMethod method,
                               int num_threads)
    : loss_(loss), num_parameters_(potential.shape.num_parameters()), pool_(num_threads) {
  const double weights[] = {loss.energy_weight, loss.force_weight, loss.stress_weight};
  for (int t = 0; t < BatchGradient::kTerms; ++t) {
    if (!(weights[t] > 0)) continue;
    terms_.push_back(t);
    weights_.push_back(weights[t]);
  }
  for (int k = 0; k < num_threads; ++k) {
    workers_.push_back(std::make_unique<Worker>(potential, loss, UnitWeights(loss), method));
  }
}

absl::Status BatchGradients::OfStructure(const AtomicData& data, int64_t s, Worker* worker, StructureTerms* terms,
                                         std::vector<double>* gradients) const {
  gradients->assign(terms_.size() * num_parameters_, 0.0);
  RETURN_IF_ERROR(worker->rows.Predict(data, s, &worker->outputs, terms));
  for (size_t k = 0; k < terms_.size(); ++k) {
    if (terms->count[terms_[k]] == 0) continue;
    worker->slopes.clear();
    for (const StructureOutput& output : worker->outputs) {
      worker->slopes.push_back(output.term == terms_[k] ? output.slope : 0);
    }
    worker->rows.Combination(worker->slopes, gradients->data() + k * num_parameters_);
  }
  return absl::OkStatus();
}

absl::Status BatchGradients::Compute(const AtomicData& data, absl::Span<const int64_t> examples,
                                     absl::Span<const double> parameters, BatchGradient* batch) {
  return ComputeBatch(data, examples, parameters, /*keep_structures=*/true, batch);
}

absl::Status BatchGradients::ComputeSums(const AtomicData& data, absl::Span<const int64_t> examples,
                                         absl::Span<const double> parameters, BatchGradient* batch) {
  return ComputeBatch(data, examples, parameters, /*keep_structures=*/false, batch);
}

absl::Status BatchGradients::ComputeBatch(const AtomicData& data, absl::Span<const int64_t> examples,
                                          absl::Span<const double> parameters, bool keep_structures,
                                          BatchGradient* batch) {
  CHECK_EQ(static_cast<int64_t>(parameters.size()), num_parameters_);
  for (const auto& worker : workers_) {
    worker->formulas.parameters.assign(parameters.begin(), parameters.end());
    worker->rows.ForgetStructure();
  }
  const auto b = static_cast<int64_t>(examples.size());
  batch->terms.assign(b, StructureTerms());
  batch->by_structure.assign(keep_structures ? b : std::min(b, kChunk), {});
  batch->total = StructureTerms();
  batch->by_term.assign(terms_.size(), std::vector<double>(num_parameters_, 0.0));
  std::vector<absl::Status> status(b);
  for (int64_t first = 0; first < b; first += kChunk) {
    const int64_t count = std::min(kChunk, b - first), place = keep_structures ? first : 0;
    pool_.For(count, 1, [&](int64_t begin, int64_t end, int index) {
      for (int64_t k = begin; k < end; ++k) {
        status[first + k] = OfStructure(data, examples[first + k], workers_[index].get(), &batch->terms[first + k],
                                        &batch->by_structure[place + k]);
      }
    });
    for (int64_t k = 0; k < count; ++k) {
      RETURN_IF_ERROR(status[first + k]);
      for (int t = 0; t < BatchGradient::kTerms; ++t) {
        batch->total.sum[t] += batch->terms[first + k].sum[t];
        batch->total.count[t] += batch->terms[first + k].count[t];
      }
      for (size_t t = 0; t < terms_.size(); ++t) {
        const double* const from = batch->by_structure[place + k].data() + t * num_parameters_;
        for (int64_t p = 0; p < num_parameters_; ++p) batch->by_term[t][p] += from[p];
      }
    }
  }
  if (!keep_structures) batch->by_structure.clear();
  TermSums sums(static_cast<int>(terms_.size()));
  for (size_t t = 0; t < terms_.size(); ++t) {
    sums.sum[t] = batch->total.sum[terms_[t]];
    sums.count[t] = batch->total.count[terms_[t]];
  }
  const Loss loss = CombineLossTerms(loss_.kind, weights_, sums);
  batch->gradient.assign(num_parameters_, 0.0);
  for (size_t t = 0; t < terms_.size(); ++t) {
    const int term = terms_[t];
    const double slope = loss.weight[t];
    batch->slope[term] = slope;
    // The slope is w / n for a mean, and w / (2 sqrt(S n)) for the root of one.
    const bool root = loss_.kind == LossKind::kRmse, any = slope != 0;
    batch->slope_by_sum[term] = any && root ? -slope / (2 * sums.sum[t]) : 0;
    batch->slope_by_count[term] = any ? -slope / ((root ? 2 : 1) * sums.count[t]) : 0;
    AddTo(batch->by_term[t], slope, batch->gradient.data());
  }
  return absl::OkStatus();
}

void BatchGradients::AddWithSlopesOf(const BatchGradient& at, const BatchGradient& moved, double factor,
                                     double* sum) const {
  for (size_t t = 0; t < terms_.size(); ++t) AddTo(moved.by_term[t], factor * at.slope[terms_[t]], sum);
}

void BatchGradients::AddChangeOfSlopes(const BatchGradient& at, absl::Span<const double> u, double* sum) const {
  for (size_t t = 0; t < terms_.size(); ++t) {
    const double along = std::inner_product(u.begin(), u.end(), at.by_term[t].begin(), 0.0);
    AddTo(at.by_term[t], at.slope_by_sum[terms_[t]] * along, sum);
  }
}

std::vector<double> BatchGradients::ByWeights(const BatchGradient& batch, absl::Span<const double> u) const {
  std::vector<double> result(batch.terms.size(), 0.0);
  for (size_t t = 0; t < terms_.size(); ++t) {
    const int term = terms_[t];
    const double along = std::inner_product(u.begin(), u.end(), batch.by_term[t].begin(), 0.0);
    for (size_t k = 0; k < result.size(); ++k) {
      const double own =
          std::inner_product(u.begin(), u.end(), batch.by_structure[k].begin() + t * num_parameters_, 0.0);
      result[k] += batch.slope[term] * own + (batch.slope_by_sum[term] * batch.terms[k].sum[term] +
                                              batch.slope_by_count[term] * batch.terms[k].count[term]) *
                                                 along;
    }
  }
  return result;
}

}  // namespace rutile
