#include "lib/kg/conve_kernel.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "lib/base/logging.h"
#include "lib/kg/conve_layers.h"
#include "lib/kg/entity_scores.h"
#include "lib/kg/product_layers.h"
#include "lib/kg/workspace.h"
#include "lib/profile/scope.h"

namespace rutile {

class ConveKernel::Impl {
 public:
  virtual ~Impl() = default;
  virtual void AccumulateGradients(const Tensor& parameters, const KgeBatch& batch, Tensor* gradient, double* loss_sum,
                                   BatchStatistics* statistics, const KgeGradientUse& use) = 0;
  virtual void Hidden(const Tensor& parameters, absl::Span<const int32_t> heads, absl::Span<const int32_t> relations,
                      Tensor* hidden) = 0;
  virtual void SetBatchSum(BatchSum sum) = 0;
  virtual absl::Status status() const = 0;
};

namespace {

// Queries whose maps exist at one time where no gradient is wanted.
constexpr int64_t kHiddenQueries = 256;
// A batch of more heads has its gradient added up in one piece: their rows would be much of the table.
constexpr int64_t kEntitiesPerHead = 8;

}  // namespace

template <typename T>
class ConveKernel::ImplOf : public Impl {
 public:
  ImplOf(const KgeShape& shape, ThreadPool* pool, bool bf16)
      : shape_(shape), at_(shape.offsets()), scores_(shape, pool, bf16), products_(shape) {
    if (shape.is_conve()) conve_.emplace(shape, pool, bf16);
  }

  void AccumulateGradients(const Tensor& parameters, const KgeBatch& batch, Tensor* gradient, double* loss_sum,
                           BatchStatistics* statistics, const KgeGradientUse& use) override {
    CHECK_EQ(parameters.num_elements(), at_.size);
    const T* const p = parameters.values<T>().data();
    T* g = nullptr;
    if (gradient != nullptr) {
      CHECK_EQ(gradient->num_elements(), at_.size);
      g = gradient->mutable_values<T>().data();
    }
    T* const v = Take<T>(&v_, batch.size() * shape_.dim());
    EntityArrays<T> arrays;
    arrays.v = v;
    arrays.entities = p + at_.entity;
    if (at_.entity_bias >= 0) arrays.bias = p + at_.entity_bias;
    if (g != nullptr) {
      arrays.d_entities = g + at_.entity;
      if (at_.entity_bias >= 0) arrays.d_bias = g + at_.entity_bias;
      arrays.d_v = Take<T>(&d_v_, batch.size() * shape_.dim());
    }
    if (g == nullptr && !batch.training) {
      ForwardInChunks(p, batch, v);
    } else {
      Forward(p, batch, v);
    }
    if (statistics != nullptr) *statistics = conve_ && batch.training ? conve_->Statistics() : BatchStatistics();
    // Nothing is finished early where heads are much of the table.
    const bool early = g != nullptr && batch.size() * kEntitiesPerHead <= shape_.num_entities;
    GradientObserver* const observer = early ? use.observer : nullptr;
    GradientTaker* const taker = early && batch.size() > 0 ? use.taker : nullptr;
    if (g != nullptr && use.overwrite) Overwrite(batch.size() == 0, g, &arrays);
    if (taker != nullptr) {
      CHECK(use.overwrite && observer == nullptr);
      SplitAtHeads(batch, &arrays);
    }
    *loss_sum += scores_.AddLosses(batch, arrays, taker != nullptr ? HandOverRows(taker, g) : TellRows(observer));
    if (g == nullptr) return;
    const ProfileScope scope(Stage::kBackward);
    T* d_heads = nullptr;
    if (observer != nullptr) {
      d_heads = Take<T>(&d_heads_, batch.size() * shape_.dim());
      std::fill_n(d_heads, batch.size() * shape_.dim(), T(0));
    }
    if (conve_) {
      conve_->Backward(p, batch, v, arrays.d_v, g, d_heads, observer, /*overwrite_fc=*/use.overwrite && !arrays.add);
    } else {
      products_.Backward(p, batch, arrays.d_v, g, d_heads);
    }
    if (observer != nullptr) TellHeads(batch, observer);
  }

  void Hidden(const Tensor& parameters, absl::Span<const int32_t> heads, absl::Span<const int32_t> relations,
              Tensor* hidden) override {
    CHECK_EQ(heads.size(), relations.size());
    CHECK_EQ(hidden->num_elements(), static_cast<int64_t>(heads.size()) * shape_.dim());
    KgeBatch batch;
    batch.head = heads;
    batch.relation = relations;
    batch.training = false;
    ForwardInChunks(parameters.values<T>().data(), batch, hidden->mutable_values<T>().data());
  }

  void SetBatchSum(BatchSum sum) override {
    if (conve_) conve_->SetBatchSum(std::move(sum));
  }
  absl::Status status() const override { return conve_ ? conve_->status() : absl::OkStatus(); }

 private:
  using ToldRows = std::function<void(int64_t begin, int64_t end)>;

  // Products will set the large parts, and nobody where there is no query; the others are cleared.
  void Overwrite(bool empty, T* g, EntityArrays<T>* arrays) const {
    if (empty) {
      std::fill_n(g, at_.size, T(0));
      return;
    }
    arrays->add = false;
    std::fill(g + at_.relation, g + (conve_ ? at_.fc_weight : at_.size), T(0));
    if (conve_) std::fill(g + at_.fc_bias, g + at_.size, T(0));
  }

  // Gradients of entities are made in one block of memory that stays in the cache.
  void SplitAtHeads(const KgeBatch& batch, EntityArrays<T>* arrays) {
    heads_.assign(batch.head.begin(), batch.head.end());
    std::sort(heads_.begin(), heads_.end());
    heads_.erase(std::unique(heads_.begin(), heads_.end()), heads_.end());
    arrays->one_block = true;
    arrays->d_entities = Take<T>(&d_block_, EntityScores<T>::kEntities * shape_.dim());
    if (arrays->d_bias != nullptr) arrays->d_bias = Take<T>(&d_bias_block_, EntityScores<T>::kEntities);
  }

  // Rows of heads, to which the layers will add, go to the gradient, and all others to the taker.
  ToldRows HandOverRows(GradientTaker* taker, T* g) const {
    return [this, taker, g](int64_t begin, int64_t end) {
      const int64_t d = shape_.dim();
      const auto hand_over = [&](int64_t from, int64_t to) {
        if (from == to) return;
        taker->Take(at_.entity + from * d, d_block_.Slice((from - begin) * d, {(to - from) * d}));
      };
      auto head = std::lower_bound(heads_.begin(), heads_.end(), begin);
      int64_t from = begin;
      for (; head != heads_.end() && *head < end; ++head) {
        hand_over(from, *head);
        std::copy_n(d_block_.values<T>().data() + (*head - begin) * d, d, g + at_.entity + *head * d);
        from = *head + 1;
      }
      hand_over(from, end);
      if (at_.entity_bias >= 0) taker->Take(at_.entity_bias + begin, d_bias_block_.Slice(0, {end - begin}));
    };
  }

  ToldRows TellRows(GradientObserver* observer) const {
    if (observer == nullptr) return nullptr;
    return [this, observer](int64_t begin, int64_t end) {
      observer->Finish({at_.entity + begin * shape_.dim(), at_.entity + end * shape_.dim()});
      if (at_.entity_bias >= 0) observer->Finish({at_.entity_bias + begin, at_.entity_bias + end});
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
      conve_->Forward(parameters, batch, v);
    } else {
      products_.Forward(parameters, batch, v);
    }
  }

  // Without statistics of a batch queries do not depend on each other.
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
  std::optional<ConveLayers<T>> conve_;
  ProductLayers<T> products_;
  std::vector<int32_t> heads_;  // of a batch whose gradient is handed over, ascending
  Tensor v_, d_v_, d_heads_, d_block_, d_bias_block_;
};

ConveKernel::ConveKernel(const KgeShape& shape, ThreadPool* pool, bool bf16) {
  CHECK(shape.options.precision == DType::kF32 || shape.options.precision == DType::kF64);
  if (shape.options.precision == DType::kF64) {
    impl_ = std::make_unique<ImplOf<double>>(shape, pool, bf16);
  } else {
    impl_ = std::make_unique<ImplOf<float>>(shape, pool, bf16);
  }
}

ConveKernel::~ConveKernel() = default;

absl::Status ConveKernel::AccumulateGradients(const Tensor& parameters, const KgeBatch& batch, Tensor* gradient,
                                              double* loss_sum, BatchStatistics* statistics,
                                              const KgeGradientUse& use) {
  impl_->AccumulateGradients(parameters, batch, gradient, loss_sum, statistics, use);
  return impl_->status();
}

std::vector<GradientRange> ConveKernel::Early(const KgeShape& shape) {
  const KgeShape::Offsets at = shape.offsets();
  std::vector<GradientRange> early = {{at.entity, at.relation}};  // with the entities' biases
  if (shape.is_conve()) early.push_back({at.fc_weight, at.size});
  return early;
}

void ConveKernel::SetBatchSum(BatchSum sum) { impl_->SetBatchSum(std::move(sum)); }

void ConveKernel::Hidden(const Tensor& parameters, absl::Span<const int32_t> heads, absl::Span<const int32_t> relations,
                         Tensor* hidden) {
  impl_->Hidden(parameters, heads, relations, hidden);
}

}  // namespace rutile
