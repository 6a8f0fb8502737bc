#include "lib/kge/training/scores/entity_scores.h"

#include <algorithm>
#include <cstring>

#include "absl/types/span.h"
#include "lib/base/logging.h"
#include "lib/kge/layers/dropout.h"
#include "lib/kge/layers/workspace.h"
#include "lib/kge/model/kge_labels.h"
#include "lib/kge/training/scores/query_weights.h"
#include "lib/matrix/matrix_view.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

// Queries whose losses one thread computes at a time.
constexpr int64_t kPiece = 64;
// Numbers between rows of scores, which would otherwise be 2 KB apart and evict each other from the first-level cache.
constexpr int64_t kGap = 16;
// The most stripes, which is the most threads that can share the work, and the most bytes of all their d_v.
constexpr int64_t kMostLanes = 64, kLaneBytes = int64_t{64} << 20;

}  // namespace

template <typename T>
EntityScores<T>::EntityScores(const KgeShape& shape, ThreadPool* pool, FactorRounding factors)
    : shape_(shape), form_(ScoreFormOf(shape.options)), pool_(pool), together_(pool, factors, form_) {
  const int threads = NumWorkers(pool);
  for (int i = 0; threads > 1 && i < threads; ++i) {
    alone_.push_back(std::make_unique<Worker>(nullptr, factors, form_));
  }
}

template <typename T>
void EntityScores<T>::SetLabels(const KgeBatch& batch, absl::Span<const double> weights) {
  CHECK(weights.empty() || IsSoftmaxLoss(shape_.options.loss));
  base_.resize(batch.size());
  extra_.resize(batch.size());
  weight_.resize(batch.size());
  tail_weight_.assign(batch.positive_weight.begin(), batch.positive_weight.end());
  for (int64_t q = 0; q < batch.size(); ++q) {
    const int64_t begin = batch.positive_offset[q], end = batch.positive_offset[q + 1];
    // The one tail of a false query has the whole label: its loss is then made that of a false answer.
    const SmoothedLabels labels =
        batch.IsFalse(q) ? SmoothedLabels() : SmoothLabels(shape_.options, shape_.num_entities, end - begin);
    base_[q] = labels.base;
    extra_[q] = labels.extra;
    weight_[q] = QueryCount(shape_.options, batch, q) * (weights.empty() ? 1 : weights[q]);
    if (tail_weight_.empty()) continue;
    const double unit = TailUnit(shape_.options, batch, q);
    for (int64_t k = begin; k < end; ++k) tail_weight_[k] *= unit;
  }
}

// The slope w (e^(x - max) / sum - label) is that of a sum and of labels that have been scaled. With a weight of 1 none
// of the numbers changes.
template <typename T>
double EntityScores<T>::WeighQueries(const KgeBatch& batch) {
  double loss = 0;
  for (size_t q = 0; q < weight_.size(); ++q) {
    double weight = weight_[q], of_query = states_[q].Loss();
    if (batch.IsFalse(static_cast<int64_t>(q))) {
      const FalseAnswer answer(of_query);
      of_query = answer.loss;
      weight *= answer.slope;
    }
    loss += weight_[q] * of_query;
    states_[q].sum /= weight;
    base_[q] *= weight;
    extra_[q] *= weight;
  }
  return loss;
}

template <typename T>
void EntityScores<T>::SetLanes(int64_t queries, T* d_v) {
  const int64_t d = shape_.dim(), bytes = std::max<int64_t>(1, queries * d * static_cast<int64_t>(sizeof(T)));
  const ShardRange all = own_entities();
  const int64_t blocks = NumPieces(all.size(), kEntities);
  const int64_t most = std::max<int64_t>(1, std::min({kMostLanes, kLaneBytes / bytes, blocks}));
  const int64_t length = NumPieces(blocks, most) * kEntities;
  num_stripes_ = all.size() == 0 ? 0 : NumPieces(all.size(), length);
  if (stripes_.size() < num_stripes_) stripes_.resize(num_stripes_);
  const bool softmax = IsSoftmaxLoss(shape_.options.loss);
  for (size_t i = 0; i < num_stripes_; ++i) {
    Stripe& stripe = stripes_[i];
    stripe.begin = all.begin + static_cast<int64_t>(i) * length;
    stripe.end = std::min(stripe.begin + length, all.end);
    stripe.losses.assign(softmax ? 0 : queries, 0);
    stripe.states.assign(softmax ? queries : 0, SoftmaxState());
    stripe.d_v = i == 0 || d_v == nullptr ? d_v : Take<T>(&stripe.d_v_memory, queries * d);
  }
}

template <typename T>
void EntityScores<T>::JoinLanes() {
  states_ = num_stripes_ > 0 ? stripes_[0].states : std::vector<SoftmaxState>(base_.size());
  for (size_t i = 1; i < num_stripes_; ++i) {
    for (size_t q = 0; q < states_.size(); ++q) states_[q].Join(stripes_[i].states[q]);
  }
}

template <typename T>
void EntityScores<T>::AddLanes(int64_t queries, T* d_v) {
  if (num_stripes_ == 0) std::fill_n(d_v, queries * shape_.dim(), T(0));
  if (num_stripes_ <= 1) return;
  ForPieces(pool_, queries, kPiece, [&](int64_t begin, int64_t end, int) {
    for (size_t i = 1; i < num_stripes_; ++i) {
      const T* const more = stripes_[i].d_v;
      for (int64_t k = begin * shape_.dim(); k < end * shape_.dim(); ++k) d_v[k] += more[k];
    }
  });
}

// Each piece of queries has its own sums over queries, added in order, so that any number of threads gives the same
// bits.
template <typename T>
void EntityScores<T>::LossOfBlock(const KgeBatch& batch, Sweep sweep, int64_t first_query, int64_t queries,
                                  ScoreBlock<T> block, Stripe* stripe, Worker* worker) {
  const int64_t pieces = NumPieces(queries, kPiece);
  T* const d_bias = block.bias_gradient;
  T* const sums = d_bias == nullptr || pieces == 1 ? nullptr : Take<T>(&worker->piece_gradients, pieces * block.n);
  if (sums != nullptr) std::memset(sums, 0, pieces * block.n * sizeof(T));
  ForPieces(worker->pool, queries, kPiece, [&](int64_t begin, int64_t end, int) {
    const int64_t first = first_query + begin, count = end - begin;
    const BlockLabels labels = {batch.positive_offset.subspan(first, count + 1),
                                batch.positive,
                                absl::MakeConstSpan(base_).subspan(first, count),
                                absl::MakeConstSpan(extra_).subspan(first, count),
                                tail_weight_,
                                absl::MakeConstSpan(weight_).subspan(first, count),
                                batch.is_false.empty() ? batch.is_false : batch.is_false.subspan(first, count)};
    ScoreBlock<T> piece = block;
    piece.scores += begin * block.stride;
    if (sums != nullptr) piece.bias_gradient = sums + begin / kPiece * block.n;
    switch (sweep) {
      case Sweep::kSums:
        return SoftmaxSums(labels, piece, absl::MakeSpan(stripe->states).subspan(first, count));
      case Sweep::kGradients:
        return SoftmaxGradients(labels, absl::MakeConstSpan(states_).subspan(first, count), piece);
      case Sweep::kCrossEntropy:
        return BinaryCrossEntropy(labels, 1.0 / static_cast<double>(shape_.num_entities), piece,
                                  absl::MakeSpan(stripe->losses).subspan(first, count));
    }
  });
  for (int64_t p = 0; sums != nullptr && p < pieces; ++p) {
    for (int64_t k = 0; k < block.n; ++k) d_bias[k] += sums[p * block.n + k];
  }
}

template <typename T>
void EntityScores<T>::ForBlock(const KgeBatch& batch, const EntityArrays<T>& arrays, Sweep sweep, int64_t first_query,
                               int64_t queries, const Candidates& candidates, Stripe* stripe, Worker* worker) {
  const int64_t d = shape_.dim(), first_entity = candidates.entities.begin, entities = candidates.entities.size();
  const MatrixView<T> v = {arrays.v + first_query * d, queries, d, d};
  const MatrixView<T> table = {candidates.rows, entities, d, d};
  const bool gradients = sweep != Sweep::kSums && arrays.d_v != nullptr;
  ScoreBlock<T> block;
  block.n = entities;
  block.stride = (IsDistance(form_) ? DistanceScores<T>::Stride(entities) : entities) + kGap;
  block.scores = Take<T>(&worker->scores, queries * block.stride);
  block.first = first_entity;
  if (arrays.bias != nullptr) block.bias = arrays.bias + first_entity;
  if (gradients && arrays.bias != nullptr) {
    block.bias_gradient =
        arrays.hand_over ? worker->d_bias.template mutable_values<T>().data() : arrays.d_bias + first_entity;
    if (!arrays.add && first_query == 0) std::fill_n(block.bias_gradient, entities, T(0));
  }
  T* const d_v = gradients ? stripe->d_v + first_query * d : nullptr;
  const bool add_to_rows = candidates.add || first_query > 0, add_to_v = first_entity > stripe->begin;
  if (IsDistance(form_)) {
    const DistanceBlock<T> distances = {arrays.v + first_query * d, candidates.rows, queries, entities, d};
    worker->distances.Scores(distances, block.scores, block.stride);
    LossOfBlock(batch, sweep, first_query, queries, block, stripe, worker);
    if (!gradients) return;
    if (!add_to_rows) std::fill_n(candidates.d_rows, entities * d, T(0));
    if (!add_to_v) std::fill_n(d_v, queries * d, T(0));
    return worker->distances.AddGradients(distances, block.scores, block.stride, d_v, candidates.d_rows);
  }
  worker->products.Multiply(v, table.Transposed(), /*add=*/false, block.scores, block.stride);
  LossOfBlock(batch, sweep, first_query, queries, block, stripe, worker);
  if (!gradients) return;
  const MatrixView<T> d_scores = {block.scores, queries, entities, block.stride};
  worker->products.Multiply(d_scores.Transposed(), v, add_to_rows, candidates.d_rows, d);
  worker->products.Multiply(d_scores, table, add_to_v, d_v, d);
}

template <typename T>
typename EntityScores<T>::Candidates EntityScores<T>::Drop(const KgeBatch& batch, const Candidates& block,
                                                           Worker* worker) const {
  const KgeOptions& options = shape_.options;
  const int64_t d = shape_.dim(), size = block.entities.size() * d;
  T* const mask = Take<T>(&worker->mask, size);
  T* const rows = Take<T>(&worker->masked, size);
  ForPieces(worker->pool, block.entities.size(), kPiece, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      FillCandidateDropout(options.seed, batch.epoch, batch.number, block.entities.begin + i, options.candidate_dropout,
                           absl::MakeSpan(mask + i * d, d));
    }
    for (int64_t k = begin * d; k < end * d; ++k) rows[k] = block.rows[k] * mask[k];
  });
  return {block.entities, rows, block.d_rows == nullptr ? nullptr : Take<T>(&worker->d_masked, size), /*add=*/false};
}

template <typename T>
void EntityScores<T>::AddDropped(const Candidates& dropped, const Candidates& block, Worker* worker) const {
  const T* const mask = worker->mask.template values<T>().data();
  for (int64_t k = 0; k < block.entities.size() * shape_.dim(); ++k) {
    block.d_rows[k] = (block.add ? block.d_rows[k] : T(0)) + dropped.d_rows[k] * mask[k];
  }
}

template <typename T>
void EntityScores<T>::ForLane(const KgeBatch& batch, const EntityArrays<T>& arrays, Sweep sweep,
                              const std::function<void(const FinishedRows&)>& finished, Stripe* stripe,
                              Worker* worker) {
  worker->products.SetRounding(batch.training);
  const bool drops = batch.training && shape_.options.candidate_dropout > 0;
  const bool gradients = sweep != Sweep::kSums && arrays.d_v != nullptr;
  for (int64_t k = stripe->begin; k < stripe->end; k += kEntities) {
    const int64_t entities = std::min(kEntities, stripe->end - k);
    FinishedRows rows = {k, k + entities};
    if (arrays.hand_over) {
      Take<T>(&worker->d_entities, entities * shape_.dim());
      rows.d_entities = &worker->d_entities;
      if (arrays.bias != nullptr) Take<T>(&worker->d_bias, entities), rows.d_bias = &worker->d_bias;
    }
    Candidates block = {{k, k + entities}, arrays.entities + k * shape_.dim(), nullptr, arrays.add};
    if (gradients) {
      block.d_rows = arrays.hand_over ? worker->d_entities.template mutable_values<T>().data()
                                      : arrays.d_entities + k * shape_.dim();
    }
    const Candidates candidates = drops ? Drop(batch, block, worker) : block;
    for (int64_t q = 0; q < batch.size(); q += kQueries) {
      ForBlock(batch, arrays, sweep, q, std::min(kQueries, batch.size() - q), candidates, stripe, worker);
    }
    if (sweep == Sweep::kSums) continue;
    if (gradients && drops && batch.size() > 0) AddDropped(candidates, block, worker);
    if (gradients && arrays.add_to_rows) arrays.add_to_rows(block.entities, block.d_rows);
    if (finished) finished(rows);
  }
}

// Counts a matrix product for the scores, twice if a softmax needs their sum first, and two for the gradients.
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
void EntityScores<T>::JoinProcesses() {
  // Each process fills its own part of an array of zeros, so that the sum has all parts.
  const int64_t n = static_cast<int64_t>(states_.size());
  std::vector<double> parts(shard_->num_ranks() * n * 3, 0);
  for (int64_t q = 0; q < n; ++q) {
    double* const part = parts.data() + (shard_->rank() * n + q) * 3;
    // The maximum over no entities is not finite.
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
                                  const std::function<void(const FinishedRows&)>& finished) {
  const ProfileScope scope(Stage::kScores);
  if (scope.is_on()) CountScores(scope, batch.size(), arrays.d_v != nullptr);
  SetLabels(batch, arrays.weights);
  SetLanes(batch.size(), arrays.d_v);
  const bool in_any_order = !finished || arrays.hand_over;
  const auto for_all = [&](Sweep sweep) {
    if (!alone_.empty() && in_any_order && num_stripes_ > 1) {
      return pool_->For(static_cast<int64_t>(num_stripes_), 1, [&](int64_t i, int64_t, int worker) {
        ForLane(batch, arrays, sweep, finished, &stripes_[i], alone_[worker].get());
      });
    }
    for (size_t i = 0; i < num_stripes_; ++i) {
      ForLane(batch, arrays, sweep, finished, &stripes_[i], &together_);
    }
  };
  double sum = 0;
  if (IsSoftmaxLoss(shape_.options.loss)) {
    for_all(Sweep::kSums);
    JoinLanes();
    if (shard_ != nullptr) JoinProcesses();
    const double of_all = WeighQueries(batch);
    if (shard_ == nullptr || shard_->rank() == 0) sum = of_all;
    if (arrays.d_v != nullptr) for_all(Sweep::kGradients);
  } else {
    for_all(Sweep::kCrossEntropy);
    for (size_t i = 0; i < num_stripes_; ++i) {
      for (const double loss : stripes_[i].losses) sum += loss;
    }
  }
  if (arrays.d_v != nullptr) AddLanes(batch.size(), arrays.d_v);
  return sum;
}

template class EntityScores<float>;
template class EntityScores<double>;

}  // namespace rutile
