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
                                   BatchStatistics* statistics, GradientObserver* observer) = 0;
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
                           BatchStatistics* statistics, GradientObserver* observer) override {
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
    if (g == nullptr || batch.size() * kEntitiesPerHead > shape_.num_entities) observer = nullptr;
    *loss_sum += scores_.AddLosses(batch, arrays, TellRows(observer));
    if (g == nullptr) return;
    const ProfileScope scope(Stage::kBackward);
    T* d_heads = nullptr;
    if (observer != nullptr) {
      d_heads = Take<T>(&d_heads_, batch.size() * shape_.dim());
      std::fill_n(d_heads, batch.size() * shape_.dim(), T(0));
    }
    if (conve_) {
      conve_->Backward(p, batch, v, arrays.d_v, g, d_heads, observer);
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
  std::function<void(int64_t begin, int64_t end)> TellRows(GradientObserver* observer) const {
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
  Tensor v_, d_v_, d_heads_;
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
                                              GradientObserver* observer) {
  impl_->AccumulateGradients(parameters, batch, gradient, loss_sum, statistics, observer);
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
