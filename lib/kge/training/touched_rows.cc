#include "lib/kge/training/touched_rows.h"

#include <algorithm>
#include <initializer_list>
#include <numeric>

#include "lib/base/logging.h"
#include "lib/kge/layers/workspace.h"
#include "lib/task/gradients/gradient_delivery.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

// Rows that one thread copies at a time.
constexpr int64_t kPiece = 64;

void Unite(std::initializer_list<absl::Span<const int32_t>> lists, std::vector<int32_t>* all) {
  all->clear();
  for (const absl::Span<const int32_t> list : lists) all->insert(all->end(), list.begin(), list.end());
  std::sort(all->begin(), all->end());
  all->erase(std::unique(all->begin(), all->end()), all->end());
}

void Number(absl::Span<const int32_t> rows, const std::vector<int32_t>& all, std::vector<int32_t>* numbers) {
  numbers->resize(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    (*numbers)[i] = static_cast<int32_t>(std::lower_bound(all.begin(), all.end(), rows[i]) - all.begin());
  }
}

// Room for a quarter more, so that the next batches seldom need a new kernel.
int64_t WithRoom(int64_t rows) { return rows + rows / 4; }

template <typename T>
void CopyRows(ThreadPool* pool, const std::vector<int32_t>& rows, int64_t width, const T* from, T* to) {
  ForPieces(pool, static_cast<int64_t>(rows.size()), kPiece, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) std::copy_n(from + rows[i] * width, width, to + i * width);
  });
}

}  // namespace

TouchedRows::TouchedRows(const KgeShape& shape, ThreadPool* pool, FactorRounding factors)
    : shape_(shape), at_(shape.offsets()), pool_(pool), factors_(factors), small_(shape) {
  small_.num_entities = small_.num_relations = 0;
  if (shape.options.relation_prediction > 0) {  // which scores all relations
    relations_.resize(shape.num_relations);
    std::iota(relations_.begin(), relations_.end(), 0);
  }
}

void TouchedRows::Find(const KgeBatch& batch) {
  Unite({batch.head, batch.positive, batch.negative}, &entities_);
  if (shape_.options.relation_prediction == 0) Unite({batch.relation}, &relations_);
  Number(batch.head, entities_, &head_);
  Number(batch.positive, entities_, &positive_);
  Number(batch.negative, entities_, &negative_);
  Number(batch.relation, relations_, &relation_);
}

void TouchedRows::MakeRoom() {
  const auto entities = static_cast<int64_t>(entities_.size()), relations = static_cast<int64_t>(relations_.size());
  if (kernel_ != nullptr && entities <= small_.num_entities && relations <= small_.num_relations) return;
  kernel_.reset();
  small_.num_entities = std::max(small_.num_entities, WithRoom(entities));
  // A loss of relations must not see rows that are none.
  const int64_t room = shape_.options.relation_prediction > 0 ? relations : WithRoom(relations);
  small_.num_relations = std::max(small_.num_relations, room);
  kernel_ = std::make_unique<ConveKernel>(small_, pool_, factors_);
  parameters_ = Tensor::Zeros(shape_.options.precision, {small_.offsets().size});
}

template <typename T>
void TouchedRows::Gather(const Tensor& parameters) {
  const T* const from = parameters.values<T>().data();
  T* const to = parameters_.mutable_values<T>().data();
  const KgeShape::Offsets at = small_.offsets();
  CopyRows(pool_, entities_, shape_.dim(), from + at_.entity, to + at.entity);
  if (at_.entity_bias >= 0) CopyRows(pool_, entities_, 1, from + at_.entity_bias, to + at.entity_bias);
  CopyRows(pool_, relations_, shape_.relation_dim(), from + at_.relation, to + at.relation);
  const int64_t rest = at_.relation + shape_.num_relations * shape_.relation_dim();
  std::copy_n(from + rest, at_.size - rest, to + at.relation + small_.num_relations * small_.relation_dim());
}

void TouchedRows::FillRanges(RowGradient* gradient) const {
  const KgeShape::Offsets at = small_.offsets();
  gradient->ranges.clear();
  const auto add = [&](const std::vector<int32_t>& rows, int64_t width, int64_t begin, int64_t here) {
    for (size_t i = 0; i < rows.size(); ++i) {
      gradient->ranges.push_back({begin + rows[i] * width, width, here + static_cast<int64_t>(i) * width});
    }
  };
  add(entities_, shape_.dim(), at_.entity, at.entity);
  if (at_.entity_bias >= 0) add(entities_, 1, at_.entity_bias, at.entity_bias);
  add(relations_, shape_.relation_dim(), at_.relation, at.relation);
  const int64_t rest = at_.relation + shape_.num_relations * shape_.relation_dim();
  if (rest == at_.size) return;
  gradient->ranges.push_back({rest, at_.size - rest, at.relation + small_.num_relations * small_.relation_dim()});
}

absl::Status TouchedRows::ComputeRows(const Tensor& parameters, const KgeBatch& batch, RowGradient* gradient,
                                      double* loss_sum, BatchStatistics* statistics) {
  CHECK(!batch.negative.empty());
  CHECK_EQ(parameters.num_elements(), at_.size);
  {
    const ProfileScope scope(Stage::kEmbedding);
    Find(batch);
    MakeRoom();
    if (parameters.dtype() == DType::kF64) {
      Gather<double>(parameters);
    } else {
      Gather<float>(parameters);
    }
  }
  KgeBatch small = batch;
  small.head = head_;
  small.relation = relation_;
  small.positive = positive_;
  small.negative = negative_;
  const std::vector<int64_t> size = {small_.offsets().size};
  if (!gradient->values.Reuse(parameters.dtype(), size)) gradient->values = Tensor::Zeros(parameters.dtype(), size);
  FillRanges(gradient);
  return kernel_->AccumulateGradients(parameters_, small, &gradient->values, loss_sum, statistics,
                                      GradientDelivery::Overwrite());
}

}  // namespace rutile
