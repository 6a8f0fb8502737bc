#include "lib/kge/training/conve_kernel.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "lib/base/logging.h"
#include "lib/kge/layers/batch_rows.h"
#include "lib/kge/layers/conve/conve_layers.h"
#include "lib/kge/layers/kge_shard.h"
#include "lib/kge/layers/product_layers.h"
#include "lib/kge/layers/workspace.h"
#include "lib/kge/training/scores/dura_penalty.h"
#include "lib/kge/training/scores/embedding_penalty.h"
#include "lib/kge/training/scores/entity_scores.h"
#include "lib/kge/training/scores/relation_prediction.h"
#include "lib/kge/training/scores/sampled_scores.h"
#include "lib/trace/scope.h"

namespace rutile {

class ConveKernel::Impl {
 public:
  virtual ~Impl() = default;
  virtual void AccumulateGradients(const Tensor& parameters, const KgeBatch& batch, Tensor* gradient, double* loss_sum,
                                   BatchStatistics* statistics, const GradientDelivery& delivery) = 0;
  virtual void Hidden(const Tensor& parameters, absl::Span<const int32_t> heads, absl::Span<const int32_t> relations,
                      Tensor* hidden) = 0;
  virtual void SetBatchSum(BatchSum sum) = 0;
  virtual void SetShard(Exchange* exchange) = 0;
  virtual absl::Status status() const = 0;
};

namespace {

// Queries whose maps are in memory at once if no gradient is asked for.
constexpr int64_t kHiddenQueries = 256;
// A batch with more than one head for this many entities has its gradient computed in one piece, since the heads' rows
// would be much of the table.
constexpr int64_t kEntitiesPerHead = 8;

}  // namespace

template <typename T>
class ConveKernel::ImplOf : public Impl {
 public:
  ImplOf(const KgeShape& shape, ThreadPool* pool, FactorRounding factors)
      : shape_(shape),
        at_(shape.offsets()),
        scores_(shape, pool, factors),
        sampled_(shape, pool, factors),
        products_(shape, pool),
        rows_per_entity_(PenalizedRowsOfEntity(shape.options)),
        entity_penalty_(shape.options, shape.dim() / rows_per_entity_),
        relation_penalty_(shape.options, shape.relation_dim()),
        dura_(shape.options) {
    if (shape.is_conve()) conve_.emplace(shape, pool, factors);
    if (!shape.is_conve() && shape.options.relation_prediction > 0) prediction_.emplace(shape, pool, factors);
  }

  void AccumulateGradients(const Tensor& parameters, const KgeBatch& batch, Tensor* gradient, double* loss_sum,
                           BatchStatistics* statistics, const GradientDelivery& delivery) override {
    CHECK_EQ(parameters.num_elements(), at_.size);
    const T* const p = parameters.values<T>().data();
    T* g = nullptr;
    if (gradient != nullptr) {
      CHECK_EQ(gradient->num_elements(), at_.size);
      g = gradient->mutable_values<T>().data();
    }
    KgeShard* const shard = shard_ && g != nullptr && batch.training ? &*shard_ : nullptr;
    Divide(shard);
    if (shard != nullptr) FetchRows(p, batch);
    T* const v = Take<T>(&v_, batch.size() * shape_.dim());
    EntityArrays<T> arrays;
    arrays.v = v;
    arrays.entities = p + at_.entity;
    if (at_.entity_bias >= 0) arrays.bias = p + at_.entity_bias;
    if (g != nullptr) {
      arrays.d_entities = g + at_.entity;
      if (at_.entity_bias >= 0) arrays.d_bias = g + at_.entity_bias;
      arrays.d_v = Take<T>(&d_v_, batch.size() * shape_.dim() + (shard != nullptr ? 2 : 0));
    }
    if (g == nullptr && !batch.training) {
      ForwardInChunks(p, batch, v);
    } else {
      Forward(p, batch, v);
    }
    if (statistics != nullptr) *statistics = conve_ && batch.training ? conve_->Statistics() : BatchStatistics();
    const PenalizedRows penalized = FindPenalizedRows(shape_.options, batch);
    const std::vector<WeightedPair> pairs = FindPenalizedPairs(shape_.options, batch);
    if (!penalized.entities.empty() || !pairs.empty()) {
      arrays.add_to_rows = [&](ShardRange entities, T* rows) {
        entity_penalty_.AddGradients(penalized.entities, PenaltyRows(entities), p + at_.entity,
                                     PenaltyRows(entities).begin, rows);
        dura_.AddEntityGradients(pairs, entities, p + at_.entity, p + at_.relation, rows);
      };
    }
    // Before a sink may change the parameters.
    const double penalty =
        Penalty(penalized, p, shard) + dura_.template SumOf<T>(pairs, p + at_.entity, p + at_.relation);
    // Nothing is finished early if heads are much of the table, or if tails have gradients that come later.
    const bool samples = !batch.negative.empty();
    CHECK(!samples || shard == nullptr);
    const bool early =
        g != nullptr && batch.size() * kEntitiesPerHead <= shape_.num_entities && !prediction_ && !samples;
    GradientObserver* const observer = early ? delivery.observer() : nullptr;
    GradientSink* const sink = early && batch.size() > 0 ? delivery.sink() : nullptr;
    if (g != nullptr && delivery.overwrites()) Overwrite(batch.size() == 0 || samples, g, &arrays);
    if (sink != nullptr) SplitAtHeads(batch, &arrays);
    if (g != nullptr) {
      dura_.template AddRelationGradients<T>(pairs, p + at_.entity, p + at_.relation, g + at_.relation);
    }
    double loss = samples
                      ? AddSampledLosses(batch, arrays)
                      : scores_.AddLosses(batch, arrays, sink != nullptr ? HandOverRows(sink, g) : TellRows(observer));
    loss += penalty;
    if (prediction_ && batch.training) loss += prediction_->AddLosses(batch, p, g);
    if (shard != nullptr) shard->template Sum<T>(&d_v_, absl::MakeSpan(&loss, 1));
    *loss_sum += loss;
    if (g == nullptr) return;
    const ProfileScope scope(Stage::kBackward);
    relation_penalty_.AddGradients(penalized.relations, OwnRelations(shard), p + at_.relation, 0, g + at_.relation);
    BatchRowGradients<T> d_rows;
    if (observer != nullptr || shard != nullptr) d_rows.heads = TakeZeros(&d_heads_, batch.size() * shape_.dim());
    if (shard != nullptr) d_rows.relations = TakeZeros(&d_relations_, batch.size() * shape_.relation_dim());
    if (conve_) {
      conve_->Backward(p, batch, v, arrays.d_v, g, d_rows, observer,
                       /*overwrite_fc=*/delivery.overwrites() && !arrays.add);
    } else {
      products_.Backward(p, batch, arrays.d_v, g, rows_, d_rows);
    }
    if (observer != nullptr) TellHeads(batch, observer);
    if (shard != nullptr) AddOwned(*shard, batch, d_rows, g);
  }

  void Hidden(const Tensor& parameters, absl::Span<const int32_t> heads, absl::Span<const int32_t> relations,
              Tensor* hidden) override {
    CHECK_EQ(heads.size(), relations.size());
    CHECK_EQ(hidden->num_elements(), static_cast<int64_t>(heads.size()) * shape_.dim());
    Divide(nullptr);
    KgeBatch batch;
    batch.head = heads;
    batch.relation = relations;
    batch.training = false;
    ForwardInChunks(parameters.values<T>().data(), batch, hidden->mutable_values<T>().data());
  }

  void SetBatchSum(BatchSum sum) override {
    if (conve_) conve_->SetBatchSum(std::move(sum));
  }
  void SetShard(Exchange* exchange) override {
    shard_.reset();
    CHECK(exchange == nullptr || CanShard(shape_.options));
    if (exchange != nullptr) shard_.emplace(shape_, exchange);
  }
  absl::Status status() const override {
    if (shard_ && !shard_->status().ok()) return shard_->status();
    return conve_ ? conve_->status() : absl::OkStatus();
  }

 private:
  using ToldRows = std::function<void(const FinishedRows&)>;

  T* TakeZeros(Tensor* memory, int64_t size) const {
    T* const zeros = Take<T>(memory, size);
    std::fill_n(zeros, size, T(0));
    return zeros;
  }

  // A batch with negatives leaves most rows of the gradient untouched.
  double AddSampledLosses(const KgeBatch& batch, const EntityArrays<T>& arrays) {
    const double loss = sampled_.AddLosses(batch, arrays);
    if (arrays.d_v != nullptr && arrays.add_to_rows) arrays.add_to_rows({0, shape_.num_entities}, arrays.d_entities);
    return loss;
  }

  ShardRange OwnRelations(KgeShard* shard) const {
    return shard != nullptr ? shard->relations() : ShardRange{0, shape_.num_relations};
  }

  // Returns what the regularizer adds for the rows that this process owns.
  double Penalty(const PenalizedRows& rows, const T* p, KgeShard* shard) const {
    const ShardRange entities = shard != nullptr ? shard->entities() : ShardRange{0, shape_.num_entities};
    return entity_penalty_.SumOf(rows.entities, PenaltyRows(entities), p + at_.entity) +
           relation_penalty_.SumOf(rows.relations, OwnRelations(shard), p + at_.relation);
  }

  // Returns the rows of these entities that have penalties.
  ShardRange PenaltyRows(ShardRange entities) const {
    return {rows_per_entity_ * entities.begin, rows_per_entity_ * entities.end};
  }

  // Sets the shard that works on the next batch; nullptr: this process computes all of it.
  void Divide(KgeShard* shard) {
    rows_ = BatchRows<T>();
    scores_.SetShard(shard);
    if (conve_) conve_->SetShard(shard);
  }

  // Fetches the rows of heads and then those of relations, each from the process that owns it.
  void FetchRows(const T* p, const KgeBatch& batch) {
    const int64_t d = shape_.dim(), of_relation = shape_.relation_dim(), n = batch.size() * d;
    T* const rows = TakeZeros(&row_memory_, n + batch.size() * of_relation);
    for (int64_t e = 0; e < batch.size(); ++e) {
      const int64_t head = batch.head[e], relation = batch.relation[e];
      if (shard_->entities().holds(head)) std::copy_n(p + at_.entity + head * d, d, rows + e * d);
      if (!shard_->relations().holds(relation)) continue;
      std::copy_n(p + at_.relation + relation * of_relation, of_relation, rows + n + e * of_relation);
    }
    shard_->Sum(&row_memory_);
    rows_.heads = rows;
    rows_.relations = rows + n;
  }

  // Adds the gradients of owned rows in order, since two examples may have the same head. All processes have computed
  // the gradients of replicated parameters; those of rank 0 count, and the others are set to 0.
  void AddOwned(const KgeShard& shard, const KgeBatch& batch, const BatchRowGradients<T>& d_rows, T* g) const {
    const int64_t d = shape_.dim(), of_relation = shape_.relation_dim();
    const auto add = [](const T* from, int64_t n, T* to) {
      for (int64_t j = 0; j < n; ++j) to[j] += from[j];
    };
    for (int64_t e = 0; e < batch.size(); ++e) {
      const int64_t head = batch.head[e], relation = batch.relation[e];
      if (shard.entities().holds(head)) add(d_rows.heads + e * d, d, g + at_.entity + head * d);
      if (!shard.relations().holds(relation)) continue;
      add(d_rows.relations + e * of_relation, of_relation, g + at_.relation + relation * of_relation);
    }
    if (!shape_.has_features() || shard.rank() == 0) return;
    if (!conve_) return std::fill(g + at_.fc_weight, g + at_.size, T(0));
    std::fill(g + at_.relation + shape_.num_relations * d, g + at_.fc_weight, T(0));
    std::fill(g + at_.fc_bias, g + at_.size, T(0));
  }

  // Clears the small parts of the gradient. Products overwrite the large parts, except in a batch that does not touch
  // all rows, which clears all.
  void Overwrite(bool untouched, T* g, EntityArrays<T>* arrays) const {
    if (untouched) {
      std::fill_n(g, at_.size, T(0));
      return;
    }
    arrays->add = false;
    std::fill(g + at_.relation, g + (conve_ ? at_.fc_weight : at_.size), T(0));
    if (conve_) std::fill(g + at_.fc_bias, g + at_.size, T(0));
  }

  // Finds the batch's heads; the gradients of entities are computed in blocks of memory that stay in the cache.
  void SplitAtHeads(const KgeBatch& batch, EntityArrays<T>* arrays) {
    heads_.assign(batch.head.begin(), batch.head.end());
    std::sort(heads_.begin(), heads_.end());
    heads_.erase(std::unique(heads_.begin(), heads_.end()), heads_.end());
    arrays->hand_over = true;
  }

  // Returns a callback that copies the rows of heads, to which the layers will add, to the gradient and passes all
  // others to the sink.
  ToldRows HandOverRows(GradientSink* sink, T* g) const {
    return [this, sink, g](const FinishedRows& rows) {
      const int64_t d = shape_.dim();
      const auto hand_over = [&](int64_t from, int64_t to) {
        if (from == to) return;
        sink->Take(at_.entity + from * d, rows.d_entities->Slice((from - rows.begin) * d, {(to - from) * d}));
      };
      auto head = std::lower_bound(heads_.begin(), heads_.end(), rows.begin);
      int64_t from = rows.begin;
      for (; head != heads_.end() && *head < rows.end; ++head) {
        hand_over(from, *head);
        std::copy_n(rows.d_entities->template values<T>().data() + (*head - rows.begin) * d, d,
                    g + at_.entity + *head * d);
        from = *head + 1;
      }
      hand_over(from, rows.end);
      if (rows.d_bias != nullptr) sink->Take(at_.entity_bias + rows.begin, *rows.d_bias);
    };
  }

  ToldRows TellRows(GradientObserver* observer) const {
    if (observer == nullptr) return nullptr;
    return [this, observer](const FinishedRows& rows) {
      observer->Finish({at_.entity + rows.begin * shape_.dim(), at_.entity + rows.end * shape_.dim()});
      if (at_.entity_bias >= 0) observer->Finish({at_.entity_bias + rows.begin, at_.entity_bias + rows.end});
    };
  }

  void TellHeads(const KgeBatch& batch, GradientObserver* observer) const {
    std::vector<int64_t> begin;
    for (const int32_t head : batch.head) begin.push_back(at_.entity + head * shape_.dim());
    observer->AddLater(begin, d_heads_.Slice(0, {batch.size(), shape_.dim()}));
  }

  void Forward(const T* parameters, const KgeBatch& batch, T* v) {
    const ProfileScope scope(Stage::kForward);
    if (conve_) {
      conve_->Forward(parameters, batch, v, rows_);
    } else {
      products_.Forward(parameters, batch, v, rows_);
    }
  }

  // Computes chunk by chunk, as queries do not depend on each other without statistics of the batch.
  void ForwardInChunks(const T* parameters, const KgeBatch& batch, T* v) {
    for (int64_t first = 0; first < batch.size(); first += kHiddenQueries) {
      KgeBatch chunk = batch;
      chunk.head = batch.head.subspan(first, kHiddenQueries);
      chunk.relation = batch.relation.subspan(first, kHiddenQueries);
      Forward(parameters, chunk, v + first * shape_.dim());
    }
  }

  const KgeShape shape_;
  const KgeShape::Offsets at_;
  EntityScores<T> scores_;
  SampledScores<T> sampled_;  // of batches with negatives
  std::optional<ConveLayers<T>> conve_;
  ProductLayers<T> products_;
  const int64_t rows_per_entity_;
  const RowPenalty entity_penalty_, relation_penalty_;
  const DuraPenalty dura_;
  std::optional<RelationPrediction<T>> prediction_;  // if it has a weight
  std::optional<KgeShard> shard_;                    // set by SetShard
  BatchRows<T> rows_;                                // the batch's rows, if the model is sharded
  std::vector<int32_t> heads_;                       // heads of a batch whose gradient goes to a sink, ascending
  Tensor v_, d_v_, d_heads_, d_relations_, row_memory_;
};

ConveKernel::ConveKernel(const KgeShape& shape, ThreadPool* pool, FactorRounding factors) {
  CHECK(shape.options.precision == DType::kF32 || shape.options.precision == DType::kF64);
  if (shape.options.precision == DType::kF64) {
    impl_ = std::make_unique<ImplOf<double>>(shape, pool, factors);
  } else {
    impl_ = std::make_unique<ImplOf<float>>(shape, pool, factors);
  }
}

ConveKernel::~ConveKernel() = default;

absl::Status ConveKernel::AccumulateGradients(const Tensor& parameters, const KgeBatch& batch, Tensor* gradient,
                                              double* loss_sum, BatchStatistics* statistics,
                                              const GradientDelivery& delivery) {
  impl_->AccumulateGradients(parameters, batch, gradient, loss_sum, statistics, delivery);
  return impl_->status();
}

std::vector<GradientRange> ConveKernel::Early(const KgeShape& shape) {
  const KgeShape::Offsets at = shape.offsets();
  std::vector<GradientRange> early = {{at.entity, at.relation}};  // including the entities' biases
  if (shape.is_conve()) early.push_back({at.fc_weight, at.size});
  return early;
}

void ConveKernel::SetBatchSum(BatchSum sum) { impl_->SetBatchSum(std::move(sum)); }

void ConveKernel::SetShard(Exchange* exchange) { impl_->SetShard(exchange); }

void ConveKernel::Hidden(const Tensor& parameters, absl::Span<const int32_t> heads, absl::Span<const int32_t> relations,
                         Tensor* hidden) {
  impl_->Hidden(parameters, heads, relations, hidden);
}

}  // namespace rutile
