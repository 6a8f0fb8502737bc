#include "lib/kge/training/scores/sampled_scores.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/types/span.h"
#include "lib/base/logging.h"
#include "lib/kge/layers/workspace.h"
#include "lib/kge/model/kge_labels.h"
#include "lib/kge/training/scores/query_weights.h"
#include "lib/matrix/matrix_view.h"
#include "lib/matrix/row_dot.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

// Queries whose losses one thread computes at a time.
constexpr int64_t kPiece = 32;
// Numbers between rows of scores, which would otherwise evict each other from the first-level cache.
constexpr int64_t kGap = 16;
// A score whose exponential is 0 beside any other, while sums of it are finite.
constexpr float kNoScore = -1e30F;

// Returns true for an index of `positive` whose tail is that of the index before, in a query that begins at `begin`.
bool IsRepeated(const KgeBatch& batch, int64_t begin, int64_t k) {
  return k > begin && batch.positive[k] == batch.positive[k - 1];
}

// The label of index k of batch.positive. That of a false query's one tail is all there is.
double LabelOf(const KgeBatch& batch, int64_t query, int64_t k, double unit) {
  return batch.IsFalse(query) ? 1 : unit * batch.TailWeight(k);
}

}  // namespace

template <typename T>
SampledScores<T>::SampledScores(const KgeShape& shape, ThreadPool* pool, FactorRounding factors)
    : shape_(shape),
      form_(ScoreFormOf(shape.options)),
      pool_(pool),
      products_(factors, pool),
      distances_(form_, pool),
      own_distances_(form_, nullptr) {}

template <typename T>
void SampledScores<T>::Gather(const KgeBatch& batch, const EntityArrays<T>& arrays) {
  const int64_t d = shape_.dim(), n = static_cast<int64_t>(batch.negative.size());
  T *const rows = Take<T>(&rows_, n * d), *const shift = Take<T>(&shift_, n);
  ForPieces(pool_, n, kPiece, [&](int64_t begin, int64_t end, int) {
    for (int64_t c = begin; c < end; ++c) std::copy_n(arrays.entities + batch.negative[c] * d, d, rows + c * d);
  });
  for (int64_t c = 0; c < n; ++c) {
    const T bias = arrays.bias == nullptr ? T(0) : arrays.bias[batch.negative[c]];
    shift[c] = bias + static_cast<T>(batch.negative_log_weight[c]);
  }
  if (arrays.d_v == nullptr) return;
  std::fill_n(Take<T>(&d_rows_, n * d), n * d, T(0));
  std::fill_n(Take<T>(&d_shift_, n), n, T(0));
}

template <typename T>
void SampledScores<T>::ScoreOwn(const KgeBatch& batch, const EntityArrays<T>& arrays, int64_t first, int64_t count) {
  const int64_t d = shape_.dim();
  if (!IsDistance(form_)) {
    ForPieces(pool_, count, kPiece, [&](int64_t piece, int64_t end, int) {
      for (int64_t q = first + piece; q < first + end; ++q) {
        for (int64_t k = batch.positive_offset[q]; k < batch.positive_offset[q + 1]; ++k) {
          own_[k] = RowDot(arrays.v + q * d, arrays.entities + batch.positive[k] * d, d);
        }
      }
    });
  } else {
    for (int64_t q = first; q < first + count; ++q) {
      const int64_t begin = batch.positive_offset[q], m = batch.positive_offset[q + 1] - begin;
      own_rows_.resize(m * d);
      for (int64_t k = 0; k < m; ++k) {
        std::copy_n(arrays.entities + batch.positive[begin + k] * d, d, own_rows_.data() + k * d);
      }
      slopes_.resize(DistanceScores<T>::Stride(m));
      own_distances_.Scores({arrays.v + q * d, own_rows_.data(), 1, m, d}, slopes_.data(),
                            static_cast<int64_t>(slopes_.size()));
      std::copy_n(slopes_.data(), m, own_.data() + begin);
    }
  }
  if (arrays.bias == nullptr) return;
  for (int64_t k = batch.positive_offset[first]; k < batch.positive_offset[first + count]; ++k) {
    own_[k] += arrays.bias[batch.positive[k]];
  }
}

template <typename T>
double SampledScores<T>::LabelUnit(const KgeBatch& batch, int64_t query) const {
  const int64_t tails = batch.positive_offset[query + 1] - batch.positive_offset[query];
  return SmoothLabels(shape_.options, shape_.num_entities, tails).extra * TailUnit(shape_.options, batch, query);
}

template <typename T>
void SampledScores<T>::Sum(const KgeBatch& batch, int64_t first, const ScoreBlock<T>& block, int64_t count) {
  for (int64_t q = 0; q < count; ++q) {
    const int64_t begin = batch.positive_offset[first + q], end = batch.positive_offset[first + q + 1];
    auto negative = batch.negative.begin();
    for (int64_t k = begin; k < end; ++k) {
      negative = std::lower_bound(negative, batch.negative.end(), batch.positive[k]);
      if (negative == batch.negative.end()) break;
      if (*negative == batch.positive[k]) {
        block.scores[q * block.stride + (negative - batch.negative.begin())] = kNoScore;
      }
    }
  }
  states_.assign(count, SoftmaxState());
  const std::vector<int64_t> none(count + 1, 0);
  const std::vector<double> zeros(count, 0);
  ForPieces(pool_, count, kPiece, [&](int64_t begin, int64_t end, int) {
    ScoreBlock<T> piece = block;
    piece.scores += begin * block.stride;
    BlockLabels labels;
    labels.positive_offset = absl::MakeConstSpan(none).subspan(0, end - begin + 1);
    labels.base = labels.extra = absl::MakeConstSpan(zeros).subspan(0, end - begin);
    SoftmaxSums(labels, piece, absl::MakeSpan(states_).subspan(begin, end - begin));
    for (int64_t q = begin; q < end; ++q) {
      const int64_t query = first + q, from = batch.positive_offset[query];
      const double unit = LabelUnit(batch, query);
      for (int64_t k = from; k < batch.positive_offset[query + 1]; ++k) {
        SoftmaxState own;
        own.max = static_cast<double>(own_[k]);
        own.sum = 1;
        // The tail of a false query is not in the sum, which FalseAnswer wants without it.
        if (!batch.IsFalse(query) && !IsRepeated(batch, from, k)) states_[q].Join(own);
        states_[q].label += LabelOf(batch, query, k, unit) * static_cast<double>(own_[k]);
      }
    }
  });
}

// The slope w (e^(x - max) / sum - label) is that of a sum and of labels that have been scaled, as in entity_scores.cc.
template <typename T>
double SampledScores<T>::Weigh(const KgeBatch& batch, int64_t first, int64_t count) {
  double loss = 0;
  scale_.resize(count);
  for (int64_t q = 0; q < count; ++q) {
    const double weight = QueryCount(shape_.options, batch, first + q);
    double of_query = states_[q].Loss();
    scale_[q] = weight;
    if (batch.IsFalse(first + q)) {
      const FalseAnswer answer(of_query);
      of_query = answer.loss;
      scale_[q] *= answer.slope;
    }
    loss += weight * of_query;
    states_[q].sum /= scale_[q];
  }
  return loss;
}

template <typename T>
void SampledScores<T>::AddOwnGradients(const KgeBatch& batch, const EntityArrays<T>& arrays, int64_t first,
                                       int64_t count) {
  const int64_t d = shape_.dim();
  // In order, because queries may share a tail.
  for (int64_t q = 0; q < count; ++q) {
    const int64_t query = first + q, begin = batch.positive_offset[query], end = batch.positive_offset[query + 1];
    const double unit = LabelUnit(batch, query);
    slopes_.resize(std::max<int64_t>(DistanceScores<T>::Stride(end - begin), end - begin));
    for (int64_t k = begin; k < end; ++k) {
      const bool counts = !batch.IsFalse(query) && !IsRepeated(batch, begin, k);
      const double share = counts ? std::exp(static_cast<double>(own_[k]) - states_[q].max) / states_[q].sum : 0;
      slopes_[k - begin] = static_cast<T>(share - scale_[q] * LabelOf(batch, query, k, unit));
      if (arrays.d_bias != nullptr) arrays.d_bias[batch.positive[k]] += slopes_[k - begin];
    }
    const T* const v = arrays.v + query * d;
    T* const d_v = arrays.d_v + query * d;
    if (IsDistance(form_)) {
      const int64_t m = end - begin;
      own_rows_.assign(2 * m * d, T(0));
      T *const rows = own_rows_.data(), *const d_rows = rows + m * d;
      for (int64_t k = 0; k < m; ++k) {
        std::copy_n(arrays.entities + batch.positive[begin + k] * d, d, rows + k * d);
      }
      const std::vector<T> slopes(slopes_.begin(), slopes_.begin() + m);
      const DistanceBlock<T> block = {v, rows, 1, m, d};
      const auto stride = static_cast<int64_t>(slopes_.size());
      own_distances_.Scores(block, slopes_.data(), stride);
      std::copy(slopes.begin(), slopes.end(), slopes_.begin());
      own_distances_.AddGradients(block, slopes_.data(), stride, d_v, d_rows);
      for (int64_t k = 0; k < m; ++k) {
        T* const to = arrays.d_entities + batch.positive[begin + k] * d;
        for (int64_t j = 0; j < d; ++j) to[j] += d_rows[k * d + j];
      }
      continue;
    }
    for (int64_t k = begin; k < end; ++k) {
      const T slope = slopes_[k - begin];
      const T* const row = arrays.entities + batch.positive[k] * d;
      T* const d_row = arrays.d_entities + batch.positive[k] * d;
      for (int64_t j = 0; j < d; ++j) {
        d_v[j] += slope * row[j];
        d_row[j] += slope * v[j];
      }
    }
  }
}

template <typename T>
void SampledScores<T>::Scatter(const KgeBatch& batch, const EntityArrays<T>& arrays) {
  const int64_t d = shape_.dim(), n = static_cast<int64_t>(batch.negative.size());
  const T* const d_rows = d_rows_.values<T>().data();
  ForPieces(pool_, n, kPiece, [&](int64_t begin, int64_t end, int) {
    for (int64_t c = begin; c < end; ++c) {
      T* const to = arrays.d_entities + batch.negative[c] * d;
      for (int64_t j = 0; j < d; ++j) to[j] += d_rows[c * d + j];
      if (arrays.d_bias != nullptr) arrays.d_bias[batch.negative[c]] += d_shift_.values<T>()[c];
    }
  });
}

template <typename T>
double SampledScores<T>::AddLosses(const KgeBatch& batch, const EntityArrays<T>& arrays) {
  CHECK(IsSoftmaxLoss(shape_.options.loss) && shape_.options.label_smoothing == 0);
  const ProfileScope scope(Stage::kScores);
  const int64_t d = shape_.dim(), n = static_cast<int64_t>(batch.negative.size());
  const bool gradients = arrays.d_v != nullptr;
  if (scope.is_on()) {
    scope.Add(Counter::kExamples, batch.size());
    scope.Add(Counter::kFlop, (gradients ? 3 : 1) * 2 * batch.size() * n * d);
  }
  Gather(batch, arrays);
  own_.resize(batch.positive.size());
  products_.SetRounding(batch.training);
  const T* const rows = rows_.values<T>().data();
  ScoreBlock<T> block;
  block.n = n;
  block.stride = (IsDistance(form_) ? DistanceScores<T>::Stride(n) : n) + kGap;
  block.bias = shift_.values<T>().data();
  double loss = 0;
  for (int64_t first = 0; first < batch.size(); first += kQueries) {
    const int64_t count = std::min(kQueries, batch.size() - first), pieces = NumPieces(count, kPiece);
    const T* const v = arrays.v + first * d;
    block.scores = Take<T>(&scores_, count * block.stride);
    const DistanceBlock<T> distances = {v, rows, count, n, d};
    const MatrixView<T> queries = {v, count, d, d}, table = {rows, n, d, d};
    if (IsDistance(form_)) {
      distances_.Scores(distances, block.scores, block.stride);
    } else {
      products_.Multiply(queries, table.Transposed(), /*add=*/false, block.scores, block.stride);
    }
    ScoreOwn(batch, arrays, first, count);
    Sum(batch, first, block, count);
    loss += Weigh(batch, first, count);
    if (!gradients) continue;
    // Each piece of queries has its own sums over queries, added in order, so that any number of threads gives the
    // same bits.
    T* const sums = Take<T>(&piece_shift_, pieces * n);
    std::fill_n(sums, pieces * n, T(0));
    const std::vector<int64_t> none(count + 1, 0);
    const std::vector<double> zeros(count, 0);
    ForPieces(pool_, count, kPiece, [&](int64_t begin, int64_t end, int) {
      ScoreBlock<T> piece = block;
      piece.scores += begin * block.stride;
      piece.bias_gradient = arrays.d_bias == nullptr ? nullptr : sums + begin / kPiece * n;
      BlockLabels labels;
      labels.positive_offset = absl::MakeConstSpan(none).subspan(0, end - begin + 1);
      labels.base = labels.extra = absl::MakeConstSpan(zeros).subspan(0, end - begin);
      SoftmaxGradients(labels, absl::MakeConstSpan(states_).subspan(begin, end - begin), piece);
    });
    for (int64_t p = 0; arrays.d_bias != nullptr && p < pieces; ++p) {
      for (int64_t c = 0; c < n; ++c) d_shift_.mutable_values<T>()[c] += sums[p * n + c];
    }
    T *const d_v = arrays.d_v + first * d, *const d_rows = d_rows_.mutable_values<T>().data();
    if (IsDistance(form_)) {
      std::fill_n(d_v, count * d, T(0));
      distances_.AddGradients(distances, block.scores, block.stride, d_v, d_rows);
    } else {
      const MatrixView<T> d_scores = {block.scores, count, n, block.stride};
      products_.Multiply(d_scores.Transposed(), queries, /*add=*/true, d_rows, d);
      products_.Multiply(d_scores, table, /*add=*/false, d_v, d);
    }
    AddOwnGradients(batch, arrays, first, count);
  }
  if (gradients) Scatter(batch, arrays);
  return loss;
}

template class SampledScores<float>;
template class SampledScores<double>;

}  // namespace rutile
