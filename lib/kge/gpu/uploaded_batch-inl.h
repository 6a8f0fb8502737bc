// A batch's arrays on the device, sent there by one copy.

#ifndef RUTILE_LIB_KGE_GPU_UPLOADED_BATCH_INL_H_
#define RUTILE_LIB_KGE_GPU_UPLOADED_BATCH_INL_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "lib/gpu/transfer_area-inl.h"
#include "lib/kge/gpu/bodies/row_bodies-inl.h"
#include "lib/kge/gpu/entity_losses-inl.h"
#include "lib/kge/gpu/kge_step.h"

namespace rutile {

// PenaltyRows on the device.
struct DevicePenaltyRows {
  const int32_t* row = nullptr;
  const double* weight = nullptr;
  int64_t size = 0;
};

// PenaltyPairs on the device.
struct DevicePenaltyPairs {
  const int32_t *entity = nullptr, *relation = nullptr;
  const double* weight = nullptr;
  DeviceRowGroups by_entity = {}, by_relation = {};
  int64_t size = 0;
};

// PredictedRelations on the device, with labels that are 1 for a triple's own relation.
struct DevicePredicted {
  const int32_t *head = nullptr, *tail = nullptr;
  DeviceLabels labels = {};
  DeviceRowGroups by_entity = {};
  int64_t size = 0;
};

// Start sends the arrays; what the other functions return is valid until the next Start.
template <typename Backend>
class UploadedBatch {
 public:
  explicit UploadedBatch(Backend* backend) : backend_(backend), area_(backend) {}

  // Sends queries without labels.
  void Start(int64_t size, const int32_t* head, const int32_t* relation) {
    Clear();
    Send(head, size, &queries_.head);
    Send(relation, size, &queries_.relation);
    queries_.size = size;
    Finish();
  }

  void Start(const KgeStepBatch& batch) {
    Clear();
    const int64_t b = batch.size;
    queries_.size = b;
    queries_.training = batch.training;
    Send(batch.head, b, &queries_.head);
    Send(batch.relation, b, &queries_.relation);
    Send(batch.positive_offset, b + 1, &queries_.positive_offset);
    Send(batch.positive, b == 0 ? 0 : batch.positive_offset[b], &queries_.positive);
    for (int layer = 0; layer < kNumKgeDropouts; ++layer) Send(batch.mask_key[layer], &queries_.mask_key[layer]);
    labels_.size = b;
    Send(batch.base, &labels_.base);
    Send(batch.extra, &labels_.extra);
    Send(batch.weight, &labels_.weight);
    Send(batch.by_head, &by_head_);
    Send(batch.by_relation, &by_relation_);
    Send(batch.entities, &entities_);
    Send(batch.relations, &relations_);
    pairs_.size = static_cast<int64_t>(batch.pairs.entity.size());
    Send(batch.pairs.entity, &pairs_.entity);
    Send(batch.pairs.relation, &pairs_.relation);
    Send(batch.pairs.weight, &pairs_.weight);
    Send(batch.pairs.by_entity, &pairs_.by_entity);
    Send(batch.pairs.by_relation, &pairs_.by_relation);
    predicted_.resize(batch.predicted.size());
    for (size_t i = 0; i < predicted_.size(); ++i) Send(batch.predicted[i], &predicted_[i]);
    Finish();
    labels_.positive_offset = queries_.positive_offset;
    labels_.positive = queries_.positive;
  }

  // Must be called after a download, which ends all earlier copies.
  void SetArrived() { in_flight_ = false; }

  const KgeDeviceBatch& Batch() const { return queries_; }
  const DeviceLabels& Labels() const { return labels_; }
  const DeviceRowGroups& by_head() const { return by_head_; }
  const DeviceRowGroups& by_relation() const { return by_relation_; }
  const DevicePenaltyRows& entities() const { return entities_; }
  const DevicePenaltyRows& relations() const { return relations_; }
  const DevicePenaltyPairs& pairs() const { return pairs_; }
  const std::vector<DevicePredicted>& predicted() const { return predicted_; }
  // Addends of the loss that are not those of queries: of penalties, and of predicted relations.
  int64_t num_penalties() const { return entities_.size + relations_.size + pairs_.size; }
  int64_t num_triples() const {
    int64_t sum = 0;
    for (const DevicePredicted& part : predicted_) sum += part.size;
    return sum;
  }
  int64_t most_triples() const {
    int64_t most = 0;
    for (const DevicePredicted& part : predicted_) most = std::max(most, part.size);
    return most;
  }

 private:
  void Clear() {
    area_.Clear();
    copies_.clear();
    results_.clear();
    queries_ = KgeDeviceBatch();
    labels_ = {};
    predicted_.clear();
    entities_ = relations_ = DevicePenaltyRows();
    pairs_ = DevicePenaltyPairs();
    by_head_ = by_relation_ = {};
  }

  // Plans to send `size` elements, and to set *to to where they are; null if there are none.
  template <typename E>
  void Send(const E* from, int64_t size, const E** to) {
    *to = nullptr;
    if (size == 0) return;
    const int64_t at = area_.template Place<E>(size);
    copies_.push_back([this, from, size, at] { std::copy_n(from, size, area_.template Host<E>(at)); });
    results_.push_back([this, at, to] { *to = area_.template Device<E>(at); });
  }
  template <typename E>
  void Send(const std::vector<E>& from, const E** to) {
    Send(from.data(), static_cast<int64_t>(from.size()), to);
  }
  void Send(const RowGroups& from, DeviceRowGroups* to) {
    to->size = static_cast<int64_t>(from.row.size());
    Send(from.row, &to->row);
    Send(from.offset, &to->offset);
    Send(from.item, &to->item);
  }
  void Send(const PenaltyRows& from, DevicePenaltyRows* to) {
    to->size = static_cast<int64_t>(from.row.size());
    Send(from.row, &to->row);
    Send(from.weight, &to->weight);
  }
  void Send(const PredictedRelations& from, DevicePredicted* to) {
    to->size = to->labels.size = static_cast<int64_t>(from.head.size());
    Send(from.head, &to->head);
    Send(from.tail, &to->tail);
    Send(from.relation, &to->labels.positive);
    Send(from.offset, &to->labels.positive_offset);
    Send(from.base, &to->labels.base);
    Send(from.extra, &to->labels.extra);
    Send(from.weight, &to->labels.weight);
    Send(from.by_entity, &to->by_entity);
  }

  void Finish() {
    // The last copy may still read the host's side.
    if (in_flight_) backend_->Download(nullptr, nullptr, 0);
    in_flight_ = true;
    if (!area_.Allocate()) return;
    for (const auto& copy : copies_) copy();
    area_.Upload();
    for (const auto& result : results_) result();
  }

  Backend* const backend_;
  TransferArea<Backend> area_;
  bool in_flight_ = false;
  std::vector<std::function<void()>> copies_, results_;
  KgeDeviceBatch queries_;
  DeviceLabels labels_ = {};
  DeviceRowGroups by_head_ = {}, by_relation_ = {};
  DevicePenaltyRows entities_, relations_;
  DevicePenaltyPairs pairs_;
  std::vector<DevicePredicted> predicted_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_GPU_UPLOADED_BATCH_INL_H_
