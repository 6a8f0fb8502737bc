#include "lib/kge/entity_scores.h"

#include <algorithm>
#include <cstring>

#include "absl/types/span.h"
#include "lib/kge/kge_labels.h"
#include "lib/kge/workspace.h"
#include "lib/matrix/matrix_view.h"
#include "lib/profile/scope.h"

namespace rutile {
namespace {

// Queries whose losses one thread takes at a time.
constexpr int64_t kPiece = 64;
// Between rows of scores, which else lie 2 KB apart and push each other out of the first cache.
constexpr int64_t kGap = 16;

}  // namespace

template <typename T>
void EntityScores<T>::SetLabels(const KgeBatch& batch) {
  base_.resize(batch.size());
  extra_.resize(batch.size());
  losses_.assign(batch.size(), 0);
  states_.assign(IsSoftmaxLoss(shape_.options.loss) ? batch.size() : 0, SoftmaxState());
  for (int64_t q = 0; q < batch.size(); ++q) {
    const SmoothedLabels labels =
        SmoothLabels(shape_.options, shape_.num_entities, batch.positive_offset[q + 1] - batch.positive_offset[q]);
    base_[q] = labels.base;
    extra_[q] = labels.extra;
  }
}

// Each piece of queries has its own sums over queries, added in order: any number of threads gives the same bits.
template <typename T>
void EntityScores<T>::LossOfBlock(const KgeBatch& batch, Sweep sweep, int64_t first_query, int64_t queries,
                                  ScoreBlock<T> block) {
  const int64_t pieces = NumPieces(queries, kPiece);
  T* const d_bias = block.bias_gradient;
  T* const sums = d_bias == nullptr || pieces == 1 ? nullptr : Take<T>(&bias_gradients_, pieces * block.n);
  if (sums != nullptr) std::memset(sums, 0, pieces * block.n * sizeof(T));
  ForPieces(pool_, queries, kPiece, [&](int64_t begin, int64_t end, int) {
    const int64_t first = first_query + begin, count = end - begin;
    const BlockLabels labels = {batch.positive_offset.subspan(first, count + 1), batch.positive,
                                absl::MakeConstSpan(base_).subspan(first, count),
                                absl::MakeConstSpan(extra_).subspan(first, count)};
    ScoreBlock<T> piece = block;
    piece.scores += begin * block.stride;
    if (sums != nullptr) piece.bias_gradient = sums + begin / kPiece * block.n;
    switch (sweep) {
      case Sweep::kSums:
        return SoftmaxSums(labels, piece, absl::MakeSpan(states_).subspan(first, count));
      case Sweep::kGradients:
        return SoftmaxGradients(labels, absl::MakeConstSpan(states_).subspan(first, count), piece);
      case Sweep::kCrossEntropy:
        return BinaryCrossEntropy(labels, 1.0 / static_cast<double>(shape_.num_entities), piece,
                                  absl::MakeSpan(losses_).subspan(first, count));
    }
  });
  for (int64_t p = 0; sums != nullptr && p < pieces; ++p) {
    for (int64_t k = 0; k < block.n; ++k) d_bias[k] += sums[p * block.n + k];
  }
}

template <typename T>
void EntityScores<T>::ForBlock(const KgeBatch& batch, const EntityArrays<T>& arrays, Sweep sweep, int64_t first_query,
                               int64_t queries, int64_t first_entity, int64_t entities) {
  const int64_t d = shape_.dim();
  const MatrixView<T> v = {arrays.v + first_query * d, queries, d, d};
  const MatrixView<T> table = {arrays.entities + first_entity * d, entities, d, d};
  ScoreBlock<T> block;
  block.n = entities;
  block.stride = entities + kGap;
  block.scores = Take<T>(&scores_, queries * block.stride);
  block.first = first_entity;
  if (arrays.bias != nullptr) block.bias = arrays.bias + first_entity;
  const int64_t row = arrays.one_block ? 0 : first_entity;  // of the gradients
  const bool add = arrays.add || first_query > 0;
  if (arrays.d_bias != nullptr && sweep != Sweep::kSums) {
    block.bias_gradient = arrays.d_bias + row;
    if (!add) std::fill_n(block.bias_gradient, entities, T(0));
  }
  products_.Multiply(v, table.Transposed(), /*add=*/false, block.scores, block.stride);
  LossOfBlock(batch, sweep, first_query, queries, block);
  if (sweep == Sweep::kSums || arrays.d_entities == nullptr) return;
  const MatrixView<T> d_scores = {block.scores, queries, entities, block.stride};
  products_.Multiply(d_scores.Transposed(), v, add, arrays.d_entities + row * d, d);
  products_.Multiply(d_scores, table, /*add=*/first_entity > own_entities().begin, arrays.d_v + first_query * d, d);
}

// A matrix product for the scores, twice where a softmax needs their sum first, and two for the gradients.
template <typename T>
void EntityScores<T>::CountScores(const ProfileScope& scope, int64_t queries, bool gradients) const {
  const int64_t scores = gradients && IsSoftmaxLoss(shape_.options.loss) ? 2 : 1;
  const int64_t products = scores + (gradients ? 2 : 0);
  const int64_t table = own_entities().size() * shape_.dim() * static_cast<int64_t>(sizeof(T));
  scope.Add(Counter::kExamples, queries);
  scope.Add(Counter::kFlop, products * 2 * queries * own_entities().size() * shape_.dim());
  scope.Add(Counter::kBytes, (scores + (gradients ? 2 : 0)) * table);  // gradients of entities are read and written
}

template <typename T>
void EntityScores<T>::JoinStates() {
  // Each fills its own part of an array of zeros, whose sum has all.
  const int64_t n = static_cast<int64_t>(states_.size());
  std::vector<double> parts(shard_->num_ranks() * n * 3, 0);
  for (int64_t q = 0; q < n; ++q) {
    double* const part = parts.data() + (shard_->rank() * n + q) * 3;
    // Of no entity the maximum is not finite.
    if (states_[q].sum == 0) continue;
    part[0] = states_[q].max, part[1] = states_[q].sum, part[2] = states_[q].label;
  }
  shard_->Sum(absl::MakeSpan(parts));
  for (int64_t q = 0; q < n; ++q) {
    SoftmaxState all;
    for (int r = 0; r < shard_->num_ranks(); ++r) {
      const double* const part = parts.data() + (r * n + q) * 3;
      SoftmaxState state;
      if (part[1] != 0) state.max = part[0], state.sum = part[1], state.label = part[2];
      all.Join(state);
    }
    states_[q] = all;
  }
}

template <typename T>
double EntityScores<T>::AddLosses(const KgeBatch& batch, const EntityArrays<T>& arrays,
                                  const std::function<void(int64_t begin, int64_t end)>& finished) {
  const ProfileScope scope(Stage::kScores);
  if (scope.is_on()) CountScores(scope, batch.size(), arrays.d_entities != nullptr);
  products_.SetRounding(batch.training);
  SetLabels(batch);
  const auto for_all = [&](Sweep sweep) {
    const ShardRange all = own_entities();
    for (int64_t k = all.begin; k < all.end; k += kEntities) {
      for (int64_t q = 0; q < batch.size(); q += kQueries) {
        ForBlock(batch, arrays, sweep, q, std::min(kQueries, batch.size() - q), k, std::min(kEntities, all.end - k));
      }
      if (finished && sweep != Sweep::kSums) finished(k, std::min(k + kEntities, all.end));
    }
    if (all.size() == 0 && arrays.d_v != nullptr) std::fill_n(arrays.d_v, batch.size() * shape_.dim(), T(0));
  };
  double sum = 0;
  if (IsSoftmaxLoss(shape_.options.loss)) {
    for_all(Sweep::kSums);
    if (shard_ != nullptr) JoinStates();
    if (shard_ == nullptr || shard_->rank() == 0) {
      for (const SoftmaxState& state : states_) sum += state.Loss();
    }
    if (arrays.d_entities != nullptr) for_all(Sweep::kGradients);
  } else {
    for_all(Sweep::kCrossEntropy);
    for (const double loss : losses_) sum += loss;
  }
  return sum;
}

template class EntityScores<float>;
template class EntityScores<double>;

}  // namespace rutile
