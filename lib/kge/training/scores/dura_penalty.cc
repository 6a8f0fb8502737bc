#include "lib/kge/training/scores/dura_penalty.h"

#include <algorithm>
#include <tuple>

#include "lib/kge/model/kge_labels.h"
#include "lib/kge/training/scores/query_weights.h"

namespace rutile {

std::vector<WeightedPair> FindPenalizedPairs(const KgeOptions& options, const KgeBatch& batch) {
  std::vector<WeightedPair> pairs;
  if (options.regularizer != KgeRegularizer::kDura || !batch.training) return pairs;
  for (int64_t q = 0; q < batch.size(); ++q) {
    const int64_t begin = batch.positive_offset[q], end = batch.positive_offset[q + 1];
    const double weight = options.regularization * QueryWeight(options, end - begin);
    pairs.push_back({batch.head[q], batch.relation[q], weight * MeanWeight(batch, q)});
    for (int64_t k = begin; k < end; ++k) {
      const double of_tail = weight / static_cast<double>(end - begin) * batch.TailWeight(k);
      pairs.push_back({batch.positive[k], batch.relation[q], of_tail});
    }
  }
  // Weights of equal pairs are added in the order of the batch.
  std::stable_sort(pairs.begin(), pairs.end(), [](const WeightedPair& a, const WeightedPair& b) {
    return std::tie(a.entity, a.relation) < std::tie(b.entity, b.relation);
  });
  size_t size = 0;
  for (const WeightedPair& pair : pairs) {
    if (size > 0 && pairs[size - 1].entity == pair.entity && pairs[size - 1].relation == pair.relation) {
      pairs[size - 1].weight += pair.weight;
    } else {
      pairs[size++] = pair;
    }
  }
  pairs.resize(size);
  return pairs;
}

DuraPenalty::DuraPenalty(const KgeOptions& options)
    : dim_(options.embedding_dim), half_(options.model == KgeModel::kComplEx ? options.embedding_dim / 2 : 0) {}

template <typename T>
double DuraPenalty::SumOf(absl::Span<const WeightedPair> pairs, const T* entities, const T* relations) const {
  double sum = 0;
  for (const WeightedPair& pair : pairs) {
    const T *const e = entities + pair.entity * dim_, *const w = relations + pair.relation * dim_;
    double psi = 0;
    for (int64_t k = 0; k < size(); ++k) {
      psi += static_cast<double>(Square(e, k)) * (0.5 + 1.5 * static_cast<double>(Square(w, k)));
    }
    sum += pair.weight * psi;
  }
  return sum;
}

template <typename T>
void DuraPenalty::AddEntityGradients(absl::Span<const WeightedPair> pairs, ShardRange range, const T* entities,
                                     const T* relations, T* gradient) const {
  const auto first = std::lower_bound(pairs.begin(), pairs.end(), range.begin,
                                      [](const WeightedPair& pair, int64_t entity) { return pair.entity < entity; });
  for (auto pair = first; pair != pairs.end() && pair->entity < range.end; ++pair) {
    const T *const e = entities + pair->entity * dim_, *const w = relations + pair->relation * dim_;
    T* const d_e = gradient + (pair->entity - range.begin) * dim_;
    const T weight = static_cast<T>(pair->weight);
    for (int64_t k = 0; k < size(); ++k) {
      const T slope = weight * (1 + 3 * Square(w, k));
      d_e[k] += slope * e[k];
      if (half_ > 0) d_e[k + half_] += slope * e[k + half_];
    }
  }
}

template <typename T>
void DuraPenalty::AddRelationGradients(absl::Span<const WeightedPair> pairs, const T* entities, const T* relations,
                                       T* gradient) const {
  for (const WeightedPair& pair : pairs) {
    const T *const e = entities + pair.entity * dim_, *const w = relations + pair.relation * dim_;
    T* const d_w = gradient + pair.relation * dim_;
    const T thrice = static_cast<T>(3 * pair.weight);
    for (int64_t k = 0; k < size(); ++k) {
      const T slope = thrice * Square(e, k);
      d_w[k] += slope * w[k];
      if (half_ > 0) d_w[k + half_] += slope * w[k + half_];
    }
  }
}

template double DuraPenalty::SumOf(absl::Span<const WeightedPair>, const float*, const float*) const;
template double DuraPenalty::SumOf(absl::Span<const WeightedPair>, const double*, const double*) const;
template void DuraPenalty::AddEntityGradients(absl::Span<const WeightedPair>, ShardRange, const float*, const float*,
                                              float*) const;
template void DuraPenalty::AddEntityGradients(absl::Span<const WeightedPair>, ShardRange, const double*, const double*,
                                              double*) const;
template void DuraPenalty::AddRelationGradients(absl::Span<const WeightedPair>, const float*, const float*,
                                                float*) const;
template void DuraPenalty::AddRelationGradients(absl::Span<const WeightedPair>, const double*, const double*,
                                                double*) const;

}  // namespace rutile
