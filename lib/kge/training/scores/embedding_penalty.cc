#include "lib/kge/training/scores/embedding_penalty.h"

#include <algorithm>
#include <cmath>

#include "lib/kge/model/kge_labels.h"
#include "lib/kge/training/scores/query_weights.h"

namespace rutile {
namespace {

// Sorts the rows and joins equal ones. Their weights are added in the order of the batch, so that sums are the same
// however often it is computed.
void Join(std::vector<WeightedRow>* rows) {
  std::stable_sort(rows->begin(), rows->end(),
                   [](const WeightedRow& a, const WeightedRow& b) { return a.row < b.row; });
  size_t size = 0;
  for (const WeightedRow& row : *rows) {
    if (size > 0 && (*rows)[size - 1].row == row.row) {
      (*rows)[size - 1].weight += row.weight;
    } else {
      (*rows)[size++] = row;
    }
  }
  rows->resize(size);
}

// The part of ascending rows that is in the range.
absl::Span<const WeightedRow> Within(absl::Span<const WeightedRow> rows, ShardRange range) {
  const auto before = [](const WeightedRow& row, int64_t value) { return row.row < value; };
  const auto begin = std::lower_bound(rows.begin(), rows.end(), range.begin, before);
  const auto end = std::lower_bound(begin, rows.end(), range.end, before);
  return rows.subspan(begin - rows.begin(), end - begin);
}

}  // namespace

RowPenalty::RowPenalty(const KgeOptions& options, int64_t dim)
    : regularizer_(options.regularizer),
      dim_(dim),
      half_(options.model == KgeModel::kComplEx && options.regularizer == KgeRegularizer::kN3 ? dim / 2 : 0) {}

template <typename T>
double RowPenalty::Of(absl::Span<const T> x) const {
  double sum = 0;
  for (int64_t k = 0; k < (half_ > 0 ? half_ : dim_); ++k) {
    const double re = static_cast<double>(x[k]), im = half_ > 0 ? static_cast<double>(x[k + half_]) : 0.0;
    const double square = re * re + im * im;
    sum += regularizer_ == KgeRegularizer::kF2 ? square : square * std::sqrt(square);
  }
  return is_on() ? sum : 0;
}

template <typename T>
void RowPenalty::AddGradient(double weight, absl::Span<const T> x, absl::Span<T> gradient) const {
  if (!is_on()) return;
  if (regularizer_ == KgeRegularizer::kF2) {
    const T twice = static_cast<T>(2 * weight);
    for (int64_t k = 0; k < dim_; ++k) gradient[k] += twice * x[k];
    return;
  }
  const T thrice = static_cast<T>(3 * weight);
  if (half_ == 0) {
    for (int64_t k = 0; k < dim_; ++k) gradient[k] += thrice * std::abs(x[k]) * x[k];
    return;
  }
  for (int64_t k = 0; k < half_; ++k) {
    const T slope = thrice * std::sqrt(x[k] * x[k] + x[k + half_] * x[k + half_]);
    gradient[k] += slope * x[k];
    gradient[k + half_] += slope * x[k + half_];
  }
}

template <typename T>
double RowPenalty::SumOf(absl::Span<const WeightedRow> rows, ShardRange own, const T* table) const {
  double sum = 0;
  for (const WeightedRow& row : Within(rows, own)) {
    sum += row.weight * Of(absl::MakeConstSpan(table + row.row * dim_, dim_));
  }
  return sum;
}

template <typename T>
void RowPenalty::AddGradients(absl::Span<const WeightedRow> rows, ShardRange own, const T* table, int64_t first,
                              T* gradient) const {
  for (const WeightedRow& row : Within(rows, own)) {
    AddGradient(row.weight, absl::MakeConstSpan(table + row.row * dim_, dim_),
                absl::MakeSpan(gradient + (row.row - first) * dim_, dim_));
  }
}

template double RowPenalty::Of(absl::Span<const float>) const;
template double RowPenalty::Of(absl::Span<const double>) const;
template void RowPenalty::AddGradient(double, absl::Span<const float>, absl::Span<float>) const;
template void RowPenalty::AddGradient(double, absl::Span<const double>, absl::Span<double>) const;
template double RowPenalty::SumOf(absl::Span<const WeightedRow>, ShardRange, const float*) const;
template double RowPenalty::SumOf(absl::Span<const WeightedRow>, ShardRange, const double*) const;
template void RowPenalty::AddGradients(absl::Span<const WeightedRow>, ShardRange, const float*, int64_t, float*) const;
template void RowPenalty::AddGradients(absl::Span<const WeightedRow>, ShardRange, const double*, int64_t,
                                       double*) const;

PenalizedRows FindPenalizedRows(const KgeOptions& options, const KgeBatch& batch) {
  PenalizedRows rows;
  if (!RowPenalty(options, options.embedding_dim).is_on() || !batch.training) return rows;
  const auto per_entity = static_cast<int32_t>(PenalizedRowsOfEntity(options));
  for (int64_t q = 0; q < batch.size(); ++q) {
    const int64_t begin = batch.positive_offset[q], end = batch.positive_offset[q + 1];
    const double weight = options.regularization * QueryWeight(options, end - begin);
    const double of_query = weight * MeanWeight(batch, q);
    rows.entities.push_back({per_entity * batch.head[q], of_query});
    rows.relations.push_back({batch.relation[q], of_query});
    for (int64_t k = begin; k < end; ++k) {
      const int32_t row = per_entity * batch.positive[k] + per_entity - 1;
      rows.entities.push_back({row, weight / static_cast<double>(end - begin) * batch.TailWeight(k)});
    }
  }
  Join(&rows.entities);
  Join(&rows.relations);
  return rows;
}

}  // namespace rutile
