#include "lib/kge/training/device_kge_kernel.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/kge/gpu/conve_statistics.h"
#include "lib/kge/layers/dropout.h"
#include "lib/kge/model/kge_labels.h"
#include "lib/kge/training/scores/dura_penalty.h"
#include "lib/kge/training/scores/embedding_penalty.h"
#include "lib/kge/training/scores/relation_prediction.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

// Triples whose relations are predicted at once; their vectors q are in memory together.
constexpr int64_t kTriples = 8192;

absl::Status StatusOf(const std::string& error) {
  return error.empty() ? absl::OkStatus() : absl::InternalError(absl::StrCat("the GPU failed: ", error));
}

RowGroups GroupByRow(absl::Span<const int32_t> rows) {
  std::vector<uint64_t> order(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) order[i] = static_cast<uint64_t>(rows[i]) << 32 | i;
  std::sort(order.begin(), order.end());
  RowGroups groups;
  groups.item.reserve(rows.size());
  for (const uint64_t entry : order) {
    const int32_t row = static_cast<int32_t>(entry >> 32);
    if (groups.row.empty() || groups.row.back() != row) {
      groups.row.push_back(row);
      groups.offset.push_back(static_cast<int64_t>(groups.item.size()));
    }
    groups.item.push_back(static_cast<int32_t>(entry & 0xffffffff));
  }
  groups.offset.push_back(static_cast<int64_t>(rows.size()));
  return groups;
}

PenaltyRows Divided(absl::Span<const WeightedRow> rows) {
  PenaltyRows divided;
  for (const WeightedRow& row : rows) {
    divided.row.push_back(row.row);
    divided.weight.push_back(row.weight);
  }
  return divided;
}

PenaltyPairs Divided(absl::Span<const WeightedPair> pairs) {
  PenaltyPairs divided;
  if (pairs.empty()) return divided;
  for (const WeightedPair& pair : pairs) {
    divided.entity.push_back(pair.entity);
    divided.relation.push_back(pair.relation);
    divided.weight.push_back(pair.weight);
  }
  divided.by_entity = GroupByRow(divided.entity);
  divided.by_relation = GroupByRow(divided.relation);
  return divided;
}

void FinishPart(PredictedRelations* part) {
  const size_t n = part->head.size();
  for (size_t i = 0; i <= n; ++i) part->offset.push_back(static_cast<int64_t>(i));
  part->base.assign(n, 0);
  part->extra.assign(n, 1);
  std::vector<int32_t> rows = part->head;
  rows.insert(rows.end(), part->tail.begin(), part->tail.end());
  part->by_entity = GroupByRow(rows);
}

std::vector<PredictedRelations> FindPredicted(const KgeOptions& options, const KgeBatch& batch) {
  std::vector<PredictedRelations> parts;
  ForEachPredictedTriple(options, batch, [&](const PredictedTriple& triple) {
    if (parts.empty() || static_cast<int64_t>(parts.back().head.size()) == kTriples) parts.emplace_back();
    PredictedRelations& part = parts.back();
    part.head.push_back(triple.head);
    part.relation.push_back(triple.relation);
    part.tail.push_back(triple.tail);
    part.weight.push_back(triple.weight);
  });
  for (PredictedRelations& part : parts) FinishPart(&part);
  return parts;
}

RowPenaltyKind PenaltyKindOf(const KgeOptions& options) {
  switch (options.regularizer) {
    case KgeRegularizer::kF2:
      return RowPenaltyKind::kSquares;
    case KgeRegularizer::kN3:
      return options.model == KgeModel::kComplEx ? RowPenaltyKind::kModuliCubed : RowPenaltyKind::kCubes;
    case KgeRegularizer::kL3:
      return RowPenaltyKind::kCubes;
    case KgeRegularizer::kNone:
    case KgeRegularizer::kDura:
      return RowPenaltyKind::kNone;
  }
  return RowPenaltyKind::kNone;
}

}  // namespace

KgeStepShape MakeStepShape(const KgeShape& shape, FactorRounding factors) {
  const KgeOptions& options = shape.options;
  const KgeShape::Offsets at = shape.offsets();
  KgeStepShape step;
  step.num_entities = shape.num_entities;
  step.num_relations = shape.num_relations;
  step.dim = shape.dim();
  step.conve = shape.is_conve();
  step.complex_numbers = options.model == KgeModel::kComplEx;
  step.softmax = IsSoftmaxLoss(options.loss);
  step.rate[kDropInput] = options.input_dropout;
  if (step.conve) {
    step.rate[kDropFeatureMap] = options.feature_map_dropout;
    step.rate[kDropOutput] = options.output_dropout;
  } else if (options.input_dropout == 0) {
    step.rate[kDropHead] = options.entity_dropout;
    step.rate[kDropRelation] = options.relation_dropout;
  }
  step.candidate_rate = options.candidate_dropout;
  step.penalty = PenaltyKindOf(options);
  step.rounding = factors;
  step.embedding_height = options.embedding_height;
  step.embedding_width = options.embedding_width;
  step.channels = options.output_channels;
  step.kernel_height = options.kernel_height;
  step.kernel_width = options.kernel_width;
  step.stacked_in_width = shape.stacked_in_width();
  step.has_input_norm = shape.has_input_norm();
  step.drops_before_norm = options.variant == ConveVariant::kTiepin;
  step.has_affine_norms = shape.has_affine_norms();
  step.norm_epsilon = kBatchNormEpsilon;
  step.entity = at.entity;
  step.entity_bias = at.entity_bias;
  step.relation = at.relation;
  step.bn0_weight = at.bn0_weight;
  step.bn0_bias = at.bn0_bias;
  step.bn0_mean = at.bn0_mean;
  step.bn0_variance = at.bn0_variance;
  step.conv_weight = at.conv_weight;
  step.conv_bias = at.conv_bias;
  step.bn1_weight = at.bn1_weight;
  step.bn1_bias = at.bn1_bias;
  step.bn1_mean = at.bn1_mean;
  step.bn1_variance = at.bn1_variance;
  step.fc_weight = at.fc_weight;
  step.fc_bias = at.fc_bias;
  step.bn2_weight = at.bn2_weight;
  step.bn2_bias = at.bn2_bias;
  step.bn2_mean = at.bn2_mean;
  step.bn2_variance = at.bn2_variance;
  step.num_parameters = at.size;
  return step;
}

DeviceKgeKernel::DeviceKgeKernel(const KgeShape& shape, std::unique_ptr<KgeStep> step)
    : shape_(shape), step_shape_(MakeStepShape(shape)), step_(std::move(step)) {
  static_assert(kDropInput == static_cast<int>(DropoutLayer::kInput));
  static_assert(kDropFeatureMap == static_cast<int>(DropoutLayer::kFeatureMap));
  static_assert(kDropOutput == static_cast<int>(DropoutLayer::kOutput));
  static_assert(kDropHead == static_cast<int>(DropoutLayer::kHead));
  static_assert(kDropRelation == static_cast<int>(DropoutLayer::kRelation));
}

KgeStepBatch DeviceKgeKernel::MakeStepBatch(const KgeBatch& batch) const {
  const ProfileScope scope(Stage::kMakeBatch);
  const KgeOptions& options = shape_.options;
  KgeStepBatch step;
  step.size = batch.size();
  step.head = batch.head.data();
  step.relation = batch.relation.data();
  step.positive_offset = batch.positive_offset.data();
  step.positive = batch.positive.data();
  step.training = batch.training;
  for (int64_t q = 0; q < batch.size(); ++q) {
    const int64_t num_true = batch.positive_offset[q + 1] - batch.positive_offset[q];
    const SmoothedLabels labels = SmoothLabels(options, shape_.num_entities, num_true);
    step.base.push_back(labels.base);
    step.extra.push_back(labels.extra);
    step.weight.push_back(QueryWeight(options, num_true));
  }
  if (!batch.training) return step;
  step.by_head = GroupByRow(batch.head);
  step.by_relation = GroupByRow(batch.relation);
  for (int layer = 0; layer < kNumKgeDropouts; ++layer) {
    if (step_shape_.rate[layer] == 0) continue;
    for (const int64_t example : batch.example) {
      step.mask_key[layer].push_back(DropoutKey(options.seed, batch.epoch, example, static_cast<DropoutLayer>(layer)));
    }
  }
  if (options.candidate_dropout > 0) {
    step.candidate_key = CandidateDropoutKey(options.seed, batch.epoch, batch.number);
  }
  const PenalizedRows penalized = FindPenalizedRows(options, batch);
  step.entities = Divided(penalized.entities);
  step.relations = Divided(penalized.relations);
  step.pairs = Divided(FindPenalizedPairs(options, batch));
  if (!shape_.is_conve() && options.relation_prediction > 0) step.predicted = FindPredicted(options, batch);
  return step;
}

absl::Status DeviceKgeKernel::Add(const KgeBatch& batch, bool overwrite) {
  return StatusOf(step_->Run(MakeStepBatch(batch), overwrite));
}

absl::Status DeviceKgeKernel::Evaluate(const KgeBatch& batch) {
  return StatusOf(step_->Evaluate(MakeStepBatch(batch)));
}

absl::Status DeviceKgeKernel::Fetch(double* loss_sum, std::vector<BatchStatistics>* statistics) {
  std::vector<KgeStepResult> results;
  RETURN_IF_ERROR(StatusOf(step_->Fetch(&results)));
  for (const KgeStepResult& result : results) {
    *loss_sum += result.loss;
    statistics->push_back(result.size == 0 ? BatchStatistics()
                                           : ConveStatistics(step_shape_, result.size, result.statistics));
  }
  return absl::OkStatus();
}

absl::Status DeviceKgeKernel::Gradient(const Tensor& parameters, const KgeBatch& batch, Tensor* gradient) {
  CheckParameters(parameters);
  CheckParameters(*gradient);
  return StatusOf(step_->Gradient(parameters.data(), MakeStepBatch(batch), gradient->mutable_data()));
}

void DeviceKgeKernel::CheckParameters(const Tensor& parameters) const {
  CHECK(parameters.dtype() == shape_.options.precision);
  CHECK_EQ(parameters.num_elements(), shape_.offsets().size);
}

absl::Status DeviceKgeKernel::SetEvaluated(const Tensor& parameters) {
  CheckParameters(parameters);
  return StatusOf(step_->SetEvaluated(parameters.data()));
}

absl::Status DeviceKgeKernel::Hidden(absl::Span<const int32_t> heads, absl::Span<const int32_t> relations,
                                     Tensor* hidden) {
  CHECK_EQ(heads.size(), relations.size());
  CHECK_EQ(hidden->num_elements(), static_cast<int64_t>(heads.size()) * shape_.dim());
  return StatusOf(
      step_->Hidden(static_cast<int64_t>(heads.size()), heads.data(), relations.data(), hidden->mutable_data()));
}

}  // namespace rutile
