#include "lib/kge/new_entities/table_loss.h"

#include <algorithm>
#include <cmath>

#include "lib/base/logging.h"
#include "lib/base/round_up.h"
#include "lib/matrix/dense_products.h"
#include "lib/matrix/matrix_view.h"

namespace rutile {
namespace {

constexpr int64_t kRows = 512;            // rows that are converted at a time
constexpr int64_t kMostPieces = 64;       // each has sums of its own for the gradient
constexpr int64_t kMostScores = 1 << 24;  // in memory, at least those of one query
constexpr int64_t kMostQueries = 64;      // of which scores are in memory

double LogSum(absl::Span<const double> scores) {
  double most = scores[0], sum = 0;
  for (const double s : scores) most = std::max(most, s);
  for (const double s : scores) sum += std::exp(s - most);
  return most + std::log(sum);
}

// Returns the loss of a query and overwrites its scores with the slopes by them.
double LossOfScores(bool softmax, const QueryLabels& query, absl::Span<double> scores) {
  const auto num = static_cast<double>(scores.size());
  const SmoothedLabels& y = query.labels;
  double loss = 0, sum = 0;
  for (const double s : scores) sum += s;
  loss -= y.base * sum;
  for (const int32_t tail : query.tails) loss -= y.extra * scores[tail];
  if (softmax) {
    const double log_sum = LogSum(scores);
    const double all = y.base * num + y.extra * static_cast<double>(query.tails.size());  // 1 but for rounding
    loss += all * log_sum;
    for (double& s : scores) s = all * std::exp(s - log_sum) - y.base;
  } else {
    for (double& s : scores) {
      loss += std::max(s, 0.0) + std::log1p(std::exp(-std::abs(s)));
      s = 1 / (1 + std::exp(-s)) - y.base;
    }
  }
  for (const int32_t tail : query.tails) scores[tail] -= y.extra;
  return loss;
}

}  // namespace

TableLoss::TableLoss(const KgeShape& shape, const Tensor& parameters, ThreadPool* pool)
    : shape_(shape),
      at_(shape.offsets()),
      parameters_(parameters),
      pool_(pool),
      piece_(RoundUp(std::max<int64_t>((shape.num_entities + kMostPieces - 1) / kMostPieces, 1), kRows)),
      rows_(pool->num_threads(), std::vector<double>(kRows * shape.dim())) {}

const double* TableLoss::Rows(int64_t begin, int64_t end, int worker) {
  const int64_t dim = shape_.dim(), first = at_.entity + begin * dim, count = (end - begin) * dim;
  double* const rows = rows_[worker].data();
  if (parameters_.dtype() == DType::kF64) {
    std::copy_n(parameters_.values<double>().begin() + first, count, rows);
  } else {
    std::copy_n(parameters_.values<float>().begin() + first, count, rows);
  }
  return rows;
}

void TableLoss::Score(absl::Span<const double> v) {
  const int64_t dim = shape_.dim(), num = shape_.num_entities, queries = static_cast<int64_t>(v.size()) / dim;
  scores_.resize(queries * num);
  pool_->For(num, kRows, [&](int64_t begin, int64_t end, int worker) {
    const MatrixView<double> rows = {Rows(begin, end, worker), end - begin, dim, dim};
    MultiplyDense<double>({v.data(), queries, dim, dim}, rows.Transposed(), /*add=*/false, scores_.data() + begin, num);
    if (at_.entity_bias < 0) return;
    for (int64_t e = begin; e < end; ++e) {
      const int64_t at = at_.entity_bias + e;
      const double bias = parameters_.dtype() == DType::kF64 ? parameters_.values<double>()[at]
                                                             : static_cast<double>(parameters_.values<float>()[at]);
      for (int64_t q = 0; q < queries; ++q) scores_[q * num + e] += bias;
    }
  });
}

double TableLoss::Evaluate(absl::Span<const QueryLabels> queries, absl::Span<const double> v, absl::Span<double> d_v) {
  const int64_t dim = shape_.dim(), num = shape_.num_entities, all = static_cast<int64_t>(queries.size());
  CHECK_EQ(static_cast<int64_t>(v.size()), all * dim);
  CHECK_EQ(d_v.size(), v.size());
  const bool softmax = IsSoftmaxLoss(shape_.options.loss);
  const int64_t chunk = std::min(kMostQueries, std::max<int64_t>(1, kMostScores / num));
  double loss = 0;
  for (int64_t first = 0; first < all; first += chunk) {
    const int64_t count = std::min(chunk, all - first);
    Score(v.subspan(first * dim, count * dim));
    std::vector<double> losses(count);
    pool_->For(count, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t q = begin; q < end; ++q) {
        losses[q] = LossOfScores(softmax, queries[first + q], absl::MakeSpan(scores_.data() + q * num, num));
      }
    });
    for (const double each : losses) loss += each;
    const int64_t pieces = (num + piece_ - 1) / piece_;
    std::vector<double> sums(pieces * count * dim, 0.0);
    pool_->For(num, piece_, [&](int64_t begin, int64_t end, int worker) {
      double* const sum = sums.data() + begin / piece_ * count * dim;
      for (int64_t from = begin; from < end; from += kRows) {
        const int64_t to = std::min(end, from + kRows);
        MultiplyDense<double>({scores_.data() + from, count, to - from, num},
                              {Rows(from, to, worker), to - from, dim, dim}, /*add=*/true, sum, dim);
      }
    });
    double* const out = d_v.data() + first * dim;
    std::fill_n(out, count * dim, 0.0);
    for (int64_t piece = 0; piece < pieces; ++piece) {
      for (int64_t i = 0; i < count * dim; ++i) out[i] += sums[piece * count * dim + i];
    }
  }
  return loss;
}

std::vector<double> TableLoss::LogSums(absl::Span<const double> v) {
  const int64_t dim = shape_.dim(), num = shape_.num_entities, all = static_cast<int64_t>(v.size()) / dim;
  const int64_t chunk = std::min(kMostQueries, std::max<int64_t>(1, kMostScores / num));
  std::vector<double> sums;
  for (int64_t first = 0; first < all; first += chunk) {
    const int64_t count = std::min(chunk, all - first);
    Score(v.subspan(first * dim, count * dim));
    for (int64_t q = 0; q < count; ++q) sums.push_back(LogSum(absl::MakeSpan(scores_.data() + q * num, num)));
  }
  return sums;
}

}  // namespace rutile
