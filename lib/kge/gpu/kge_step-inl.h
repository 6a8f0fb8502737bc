// KgeStep on any backend of lib/gpu.

#ifndef RUTILE_LIB_KGE_GPU_KGE_STEP_INL_H_
#define RUTILE_LIB_KGE_GPU_KGE_STEP_INL_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/gpu/device_array-inl.h"
#include "lib/gpu/sum_bodies-inl.h"
#include "lib/gpu/transfer_area-inl.h"
#include "lib/kge/gpu/bodies/penalty_bodies-inl.h"
#include "lib/kge/gpu/bodies/product_bodies-inl.h"
#include "lib/kge/gpu/bodies/row_bodies-inl.h"
#include "lib/kge/gpu/conve_layers-inl.h"
#include "lib/kge/gpu/entity_losses-inl.h"
#include "lib/kge/gpu/kge_step.h"
#include "lib/kge/gpu/uploaded_batch-inl.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/optimizer/gpu/device_parameters-inl.h"

namespace rutile {

template <typename T, typename Backend>
class KgeStepOn final : public KgeStep {
 public:
  KgeStepOn(const KgeStepShape& shape, std::unique_ptr<Backend> backend)
      : shape_(shape),
        backend_(std::move(backend)),
        parameters_(backend_.get(), shape.num_parameters),
        losses_(backend_.get()),
        relation_losses_(backend_.get()),
        upload_(backend_.get()),
        evaluated_(backend_.get()),
        gradient_(backend_.get()),
        v_(backend_.get()),
        d_v_(backend_.get()),
        d_rows_(backend_.get()),
        pair_vectors_(backend_.get()),
        d_pair_vectors_(backend_.get()),
        candidate_keys_(backend_.get()),
        addends_(backend_.get()),
        results_(backend_.get()) {
    if (shape.conve) conve_.emplace(backend_.get(), shape);
  }

  std::string error() const { return backend_->error(); }

  DeviceParameters* parameters() override { return &parameters_; }

  std::string Run(const KgeStepBatch& batch, bool overwrite) override {
    gradient_.Release();  // of a comparison before the first step
    Compute(batch, parameters_.parameters(), parameters_.gradient(), overwrite);
    return backend_->error();
  }

  std::string Gradient(const void* parameters, const KgeStepBatch& batch, void* gradient) override {
    evaluated_.Upload(static_cast<const T*>(parameters), shape_.num_parameters);
    gradient_.Resize(shape_.num_parameters);
    if (!Ready()) return backend_->error();
    Compute(batch, evaluated_.data(), gradient_.data(), /*overwrite=*/true);
    backend_->Download(gradient, gradient_.data(), shape_.num_parameters * sizeof(T));
    upload_.SetArrived();
    return backend_->error();
  }

  std::string SetEvaluated(const void* parameters) override {
    evaluated_.Upload(static_cast<const T*>(parameters), shape_.num_parameters);
    return backend_->error();
  }

  std::string Evaluate(const KgeStepBatch& batch) override {
    Compute(batch, evaluated_.data(), nullptr, false);
    return backend_->error();
  }

  std::string Hidden(int64_t size, const int32_t* head, const int32_t* relation, void* hidden) override {
    const int64_t d = shape_.dim;
    upload_.Start(size, head, relation);
    KgeDeviceBatch batch = upload_.Batch();
    v_.Grow(size * d);
    if (!Ready()) return backend_->error();
    SetRounding(FactorRounding::kNone);
    batch.training = false;
    Forward(evaluated_.data(), batch, v_.data());
    backend_->Download(hidden, v_.data(), size * d * sizeof(T));
    upload_.SetArrived();
    return backend_->error();
  }

  std::string Fetch(std::vector<KgeStepResult>* results) override {
    results->clear();
    std::vector<double> numbers(num_results_ * slot());
    if (num_results_ > 0) {
      backend_->Download(numbers.data(), results_.data(), numbers.size() * sizeof(double));
      upload_.SetArrived();
    }
    for (int64_t i = 0; i < num_results_; ++i) {
      const double* const from = numbers.data() + i * slot();
      results->push_back({from[0], sizes_[i], {}});
      if (sizes_[i] > 0) results->back().statistics.assign(from + 1, from + slot());
    }
    num_results_ = 0;
    sizes_.clear();
    return backend_->error();
  }

 private:
  // Queries whose maps are in memory at once in evaluation mode.
  static constexpr int64_t kHiddenQueries = 4096;

  bool Ready() const { return backend_->error().empty(); }
  int64_t half() const { return shape_.complex_numbers ? shape_.dim / 2 : 0; }
  int64_t numbers() const { return shape_.complex_numbers ? shape_.dim / 2 : shape_.dim; }
  // Numbers of a batch's results: its loss, then its statistics.
  int64_t slot() const { return 1 + (conve_ ? conve_->num_statistics() : 0); }

  // Doubles are not rounded.
  void SetRounding(FactorRounding rounding) {
    if constexpr (std::is_same_v<T, float>) {
      losses_.SetRounding(rounding);
      relation_losses_.SetRounding(rounding);
      if (conve_) conve_->SetRounding(rounding);
    }
  }

  // Returns where the results of the next batch go.
  double* NextSlot() {
    const int64_t used = num_results_ * slot();
    if (used + slot() > results_.size()) {
      // Earlier results, of other batches of the same step, must survive.
      std::vector<double> kept(used);
      if (used > 0) backend_->Download(kept.data(), results_.data(), used * sizeof(double));
      results_.Resize(2 * used + 16 * slot());
      if (used > 0 && Ready()) backend_->Upload(results_.data(), kept.data(), used * sizeof(double));
    }
    ++num_results_;
    sizes_.push_back(0);
    return results_.data() + used;
  }

  void Forward(const T* p, const KgeDeviceBatch& batch, T* v) {
    if (!conve_) {
      backend_->ForEach(batch.size * numbers(),
                        ProductForwardBody<T>{p + shape_.entity, p + shape_.relation, batch.head, batch.relation,
                                              MakeProductMasks<T>(shape_, batch), half(), v});
      return;
    }
    if (batch.training) return conve_->Forward(p, batch, v);
    // Without statistics of the batch, queries do not depend on each other.
    for (int64_t first = 0; first < batch.size; first += kHiddenQueries) {
      KgeDeviceBatch chunk = batch;
      chunk.size = std::min(kHiddenQueries, batch.size - first);
      chunk.head += first;
      chunk.relation += first;
      conve_->Forward(p, chunk, v + first * shape_.dim);
    }
  }

  void AddItems(const DeviceRowGroups& groups, const T* items, T* table) {
    backend_->ForEach(groups.size * shape_.dim, AddItemsBody<T>{groups, shape_.dim, items, table});
  }

  // Computes the batch's loss at p, and adds its gradient to g unless that is null.
  void Compute(const KgeStepBatch& batch, const T* p, T* g, bool overwrite) {
    const int64_t b = batch.size, d = shape_.dim;
    double* const result = NextSlot();
    upload_.Start(batch);
    const KgeDeviceBatch queries = upload_.Batch();
    v_.Grow(b * d);
    d_v_.Grow(b * d);
    d_rows_.Grow(2 * std::max(b, upload_.most_triples()) * d);
    addends_.Grow(b + upload_.num_penalties() + upload_.num_triples());
    const bool drops = batch.training && shape_.candidate_rate > 0;
    if (drops) candidate_keys_.Resize(shape_.num_entities);
    if (!Ready()) return;
    SetRounding(batch.training ? shape_.rounding : FactorRounding::kNone);
    if (g != nullptr && overwrite) {
      const int64_t first = b == 0 ? 0 : shape_.relation;  // the losses overwrite entities and their biases
      backend_->Clear(g + first, (shape_.num_parameters - first) * sizeof(T));
    }
    Forward(p, queries, v_.data());
    DeviceEntityArrays<T> arrays = {};
    arrays.v = v_.data();
    arrays.entities = p + shape_.entity;
    if (shape_.entity_bias >= 0) arrays.bias = p + shape_.entity_bias;
    if (g != nullptr) {
      arrays.d_v = d_v_.data();
      arrays.d_entities = g + shape_.entity;
      if (shape_.entity_bias >= 0) arrays.d_bias = g + shape_.entity_bias;
      arrays.add = !overwrite;
    }
    if (drops) {
      backend_->ForEach(shape_.num_entities, CandidateKeyBody(batch.candidate_key, candidate_keys_.data()));
      arrays.candidate_rate = shape_.candidate_rate;
      arrays.candidate_key = candidate_keys_.data();
    }
    const double scale = 1.0 / static_cast<double>(shape_.num_entities);
    losses_.AddLosses(upload_.Labels(), shape_.num_entities, d, shape_.softmax, scale, arrays, addends_.data());
    double* addend = addends_.data() + b;
    addend = AddRowPenalty(upload_.entities(), p + shape_.entity, g == nullptr ? nullptr : g + shape_.entity, addend);
    addend =
        AddRowPenalty(upload_.relations(), p + shape_.relation, g == nullptr ? nullptr : g + shape_.relation, addend);
    addend = AddPairPenalty(p, g, addend);
    addend = PredictRelations(p, g, addend);
    backend_->ForEachBlock(1, SumLanes::kSharedBytes, SumBody{addends_.data(), addend - addends_.data(), result});
    if (conve_ && batch.training && b > 0) {
      sizes_.back() = b;
      backend_->ForEach(conve_->num_statistics(), CopyBody{conve_->statistics(), result + 1});
    }
    if (g == nullptr || b == 0) return;
    T *const d_heads = d_rows_.data(), *const d_relations = d_heads + b * d;
    if (conve_) {
      conve_->Backward(p, queries, v_.data(), d_v_.data(), g, d_heads, d_relations);
    } else {
      backend_->ForEach(b * numbers(), ProductBackwardBody<T>{p + shape_.entity, p + shape_.relation, queries.head,
                                                              queries.relation, MakeProductMasks<T>(shape_, queries),
                                                              half(), d_v_.data(), d_heads, d_relations});
    }
    AddItems(upload_.by_head(), d_heads, g + shape_.entity);
    AddItems(upload_.by_relation(), d_relations, g + shape_.relation);
  }

  double* AddRowPenalty(const DevicePenaltyRows& rows, const T* table, T* gradient, double* addends) {
    const RowPenaltyKind kind = shape_.penalty;
    const int64_t each = kind == RowPenaltyKind::kModuliCubed ? shape_.dim / 2 : shape_.dim;
    backend_->ForEach(rows.size, RowPenaltySumBody<T>{kind, table, shape_.dim, rows.row, rows.weight, addends});
    if (gradient != nullptr) {
      backend_->ForEach(rows.size * each,
                        RowPenaltySlopeBody<T>{kind, table, shape_.dim, rows.row, rows.weight, gradient});
    }
    return addends + rows.size;
  }

  double* AddPairPenalty(const T* p, T* g, double* addends) {
    const DevicePenaltyPairs& uploaded = upload_.pairs();
    const DevicePairs<T> pairs = {uploaded.entity,     uploaded.relation, uploaded.weight, p + shape_.entity,
                                  p + shape_.relation, shape_.dim,        half()};
    backend_->ForEach(uploaded.size, PairPenaltySumBody<T>{pairs, addends});
    if (g != nullptr) {
      backend_->ForEach(uploaded.by_entity.size * numbers(),
                        PairSlopeBody<T, true>{pairs, uploaded.by_entity, g + shape_.entity});
      backend_->ForEach(uploaded.by_relation.size * numbers(),
                        PairSlopeBody<T, false>{pairs, uploaded.by_relation, g + shape_.relation});
    }
    return addends + uploaded.size;
  }

  // Relations take the place of entities in the losses.
  double* PredictRelations(const T* p, T* g, double* addends) {
    const int64_t d = shape_.dim;
    for (const DevicePredicted& part : upload_.predicted()) {
      pair_vectors_.Grow(part.size * d);
      d_pair_vectors_.Grow(part.size * d);
      if (!Ready()) return addends;
      const T* const entities = p + shape_.entity;
      backend_->ForEach(part.size * numbers(),
                        PairVectorBody<T>{entities, part.head, part.tail, d, half(), pair_vectors_.data()});
      DeviceEntityArrays<T> arrays = {};
      arrays.v = pair_vectors_.data();
      arrays.entities = p + shape_.relation;
      if (g != nullptr) {
        arrays.d_v = d_pair_vectors_.data();
        arrays.d_entities = g + shape_.relation;
        arrays.add = true;
      }
      relation_losses_.AddLosses(part.labels, shape_.num_relations, d, /*softmax=*/true, 0, arrays, addends);
      if (g != nullptr) {
        backend_->ForEach(part.size * numbers(),
                          PairVectorBackwardBody<T>{entities, part.head, part.tail, part.size, d, half(),
                                                    d_pair_vectors_.data(), d_rows_.data()});
        AddItems(part.by_entity, d_rows_.data(), g + shape_.entity);
      }
      addends += part.size;
    }
    return addends;
  }

  const KgeStepShape shape_;
  const std::unique_ptr<Backend> backend_;
  DeviceParametersOn<T, Backend> parameters_;
  std::optional<DeviceConveLayers<T, Backend>> conve_;
  DeviceEntityLosses<T, Backend> losses_, relation_losses_;
  UploadedBatch<Backend> upload_;
  DeviceArray<T, Backend> evaluated_, gradient_;  // beside parameters_
  DeviceArray<T, Backend> v_, d_v_, d_rows_, pair_vectors_, d_pair_vectors_;
  DeviceArray<uint64_t, Backend> candidate_keys_;
  DeviceArray<double, Backend> addends_;  // what adds up to the loss
  DeviceArray<double, Backend> results_;  // of batches since Fetch
  int64_t num_results_ = 0;
  std::vector<int64_t> sizes_;  // of these batches, 0 for those without statistics
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_GPU_KGE_STEP_INL_H_
