#include "lib/influence/tracin_reference.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>

#include "absl/status/status.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/influence/tracin_inputs.h"
#include "lib/task/gradient_products.h"

namespace rutile {
namespace {

using Matrix = std::vector<std::vector<double>>;  // a row of P numbers for each example

// The weight of each parameter's product, and the part to which the parameter belongs (-1: none).
struct Metric {
  std::vector<double> factor;  // [P]
  std::vector<int> part;       // [P]
  int num_parts = 0;

  std::vector<double> Products(const std::vector<double>& a, const std::vector<double>& b) const {
    std::vector<double> sum(num_parts);
    for (size_t p = 0; p < a.size(); ++p) {
      if (part[p] >= 0) sum[part[p]] += factor[p] * a[p] * b[p];
    }
    return sum;
  }
};

double Sum(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

Metric MakeMetric(const std::vector<ParameterSlice>& slices, const std::vector<ProductPart>& parts,
                  const Tensor* preconditioner) {
  Metric metric;
  metric.num_parts = parts.empty() ? 1 : static_cast<int>(parts.size());
  std::vector<int> part_of(slices.size(), -1);
  for (size_t s = 0; s < slices.size(); ++s) {
    if (parts.empty() && !slices[s].buffer) part_of[s] = 0;
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    for (const int slice : parts[i].slices) part_of[slice] = static_cast<int>(i);
  }
  for (size_t s = 0; s < slices.size(); ++s) {
    CHECK_EQ(slices[s].offset, metric.part.size());
    metric.part.resize(slices[s].offset + slices[s].num_elements(), part_of[s]);
  }
  metric.factor.assign(metric.part.size(), 1);
  if (preconditioner != nullptr && preconditioner->num_elements() > 0) metric.factor = preconditioner->ToDoubles();
  return metric;
}

absl::StatusOr<Matrix> TrainGradients(GradientProducts* products, absl::Span<const int64_t> train, size_t size) {
  Matrix rows;
  for (const int64_t i : train) {
    rows.emplace_back(size);
    RETURN_IF_ERROR(products->ReferenceTrainGradient(i, absl::MakeSpan(rows.back())));
  }
  return rows;
}

absl::StatusOr<Matrix> TestGradients(GradientProducts* products, absl::Span<const int64_t> tests,
                                     absl::Span<const double> weight, size_t size) {
  Matrix rows;
  std::vector<double> gradient(size);
  if (weight.empty()) {
    for (const int64_t j : tests) {
      RETURN_IF_ERROR(products->ReferenceTestGradient(j, absl::MakeSpan(gradient)));
      rows.push_back(gradient);
    }
    return rows;
  }
  rows.emplace_back(size);
  for (size_t j = 0; j < weight.size(); ++j) {
    RETURN_IF_ERROR(products->ReferenceTestGradient(static_cast<int64_t>(j), absl::MakeSpan(gradient)));
    for (size_t p = 0; p < size; ++p) rows[0][p] += weight[j] * gradient[p];
  }
  return rows;
}

// Returns the factor that normalizes <g, g'>.
double Scale(InfluenceNormalization normalization, double train_square, double test_square) {
  double square = 1;
  if (normalization != InfluenceNormalization::kNone) square *= train_square;
  if (normalization == InfluenceNormalization::kCosine) square *= test_square;
  return square == 0 ? 0 : 1 / std::sqrt(square);
}

// Returns the indices into `score` that a ranking lists, in its order; a tie goes to the lower training example.
std::vector<size_t> Listed(const std::vector<double>& score, const std::vector<bool>& allowed,
                           absl::Span<const int64_t> train, InfluenceRanking ranking, int64_t top_k) {
  const auto key = [&](size_t i) {
    if (ranking == InfluenceRanking::kAbsolute) return std::abs(score[i]);
    return ranking == InfluenceRanking::kLowest ? -score[i] : score[i];
  };
  std::vector<size_t> order;
  for (size_t i = 0; i < score.size(); ++i) {
    if (allowed[i]) order.push_back(i);
  }
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return key(a) != key(b) ? key(a) > key(b) : train[a] < train[b]; });
  if (top_k == 0 || static_cast<int64_t>(order.size()) <= top_k) return order;
  if (ranking != InfluenceRanking::kBoth) {
    order.resize(top_k);
    return order;
  }
  const std::vector<size_t> lowest = Listed(score, allowed, train, InfluenceRanking::kLowest, top_k);
  std::set<size_t> kept(lowest.begin(), lowest.end());
  kept.insert(order.begin(), order.begin() + top_k);
  order.erase(std::remove_if(order.begin(), order.end(), [&](size_t i) { return kept.count(i) == 0; }), order.end());
  return order;
}

// Sums over all checkpoints: self-influence [example][part], scores [test][example][part].
struct Sums {
  Matrix train_self, test_self;
  std::vector<Matrix> score;
};

void AddTo(const std::vector<double>& values, double factor, std::vector<double>* sum) {
  for (size_t p = 0; p < values.size(); ++p) (*sum)[p] += factor * values[p];
}

void AddCheckpoint(const Matrix& train, const Matrix& tests, const Metric& metric, double rate,
                   InfluenceNormalization normalization, Sums* sums) {
  for (size_t i = 0; i < train.size(); ++i) AddTo(metric.Products(train[i], train[i]), rate, &sums->train_self[i]);
  for (size_t j = 0; j < tests.size(); ++j) {
    const std::vector<double> square = metric.Products(tests[j], tests[j]);
    AddTo(square, rate, &sums->test_self[j]);
    for (size_t i = 0; i < train.size(); ++i) {
      const double train_square = Sum(metric.Products(train[i], train[i]));
      AddTo(metric.Products(train[i], tests[j]), rate * Scale(normalization, train_square, Sum(square)),
            &sums->score[j][i]);
    }
  }
}

void AppendSelf(const Matrix& rows, bool parts, std::vector<double>* self, std::vector<double>* self_part) {
  for (const std::vector<double>& row : rows) {
    self->push_back(Sum(row));
    if (parts) self_part->insert(self_part->end(), row.begin(), row.end());
  }
}

}  // namespace

absl::StatusOr<Influence> ComputeInfluenceReference(const InfluenceInputs& inputs, const TracInOptions& options,
                                                    absl::Span<const Tensor> preconditioners) {
  RETURN_IF_ERROR(CheckInfluenceInputs(inputs, options));
  CHECK(preconditioners.empty() || preconditioners.size() == inputs.checkpoints.size());
  Influence result;
  for (const ProductPart& part : options.parts) result.part_names.push_back(part.name);
  if (options.parts.empty()) result.part_names = {"all"};
  const size_t parts = result.part_names.size();
  if (options.scores || options.test_self) result.tests.assign(inputs.tests.begin(), inputs.tests.end());
  if (!result.tests.empty() && !options.test_weight.empty()) result.tests = {-1};
  const size_t num_train = inputs.train.size(), num_tests = result.tests.size();

  Sums sums = {Matrix(num_train, std::vector<double>(parts)), Matrix(num_tests, std::vector<double>(parts)),
               std::vector<Matrix>(num_tests, Matrix(num_train, std::vector<double>(parts)))};
  for (size_t c = 0; c < inputs.checkpoints.size(); ++c) {
    GradientProducts* products = inputs.checkpoints[c];
    const Metric metric =
        MakeMetric(products->slices(), options.parts, preconditioners.empty() ? nullptr : &preconditioners[c]);
    ASSIGN_OR_RETURN(const Matrix train, TrainGradients(products, inputs.train, metric.part.size()));
    Matrix tests;
    if (num_tests > 0) {
      ASSIGN_OR_RETURN(tests, TestGradients(products, result.tests, options.test_weight, metric.part.size()));
    }
    AddCheckpoint(train, tests, metric, inputs.rates[c], options.normalization, &sums);
  }

  result.offset = {0};
  for (size_t j = 0; j < num_tests; ++j) {
    std::vector<double> score;
    std::vector<bool> allowed;
    for (size_t i = 0; i < num_train; ++i) {
      score.push_back(Sum(sums.score[j][i]));
      allowed.push_back(options.scores && (!inputs.allowed || inputs.allowed(result.tests[j], inputs.train[i])));
    }
    for (const size_t i : Listed(score, allowed, inputs.train, options.ranking, options.top_k)) {
      result.train.push_back(inputs.train[i]);
      result.score.push_back(score[i]);
      const std::vector<double>& part = sums.score[j][i];
      if (options.part_scores) result.part_score.insert(result.part_score.end(), part.begin(), part.end());
    }
    result.offset.push_back(static_cast<int64_t>(result.train.size()));
  }
  result.train_order.assign(inputs.train.begin(), inputs.train.end());
  if (options.train_self) {
    AppendSelf(sums.train_self, options.part_scores, &result.train_self, &result.train_self_part);
  }
  if (options.test_self) AppendSelf(sums.test_self, options.part_scores, &result.test_self, &result.test_self_part);
  return result;
}

}  // namespace rutile
