// Batches with negatives, for tests.

#ifndef RUTILE_LIB_KGE_TRAINING_SAMPLED_TESTING_H_
#define RUTILE_LIB_KGE_TRAINING_SAMPLED_TESTING_H_

#include <cstdint>
#include <vector>

#include "lib/base/random.h"
#include "lib/kge/layers/kge_batch.h"
#include "lib/kge/model/kge_init.h"
#include "lib/kge/model/kge_options.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/kge/training/scores/negative_samples.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Owns the arrays of a batch of queries with one tail each, or with 1 to 4.
struct SampledBatch {
  SampledBatch(const KgeShape& shape, int64_t queries, int64_t negatives, bool keys, uint64_t seed = 1) {
    RandomStream stream(seed, "batch");
    offset = {0};
    for (int64_t q = 0; q < queries; ++q) {
      head.push_back(static_cast<int32_t>(stream.Below(shape.num_entities)));
      relation.push_back(static_cast<int32_t>(stream.Below(shape.num_relations)));
      example.push_back(100 + q);
      const auto tails = static_cast<int64_t>(keys ? 1 + stream.Below(4) : 1);
      for (const int32_t tail : DrawNegatives(seed, 1, q, shape.num_entities, tails)) positive.push_back(tail);
      offset.push_back(static_cast<int64_t>(positive.size()));
    }
    negative = DrawNegatives(seed, 0, 0, shape.num_entities, negatives);
    log_weight.assign(negatives, NegativeLogWeight(shape.num_entities, negatives));
  }

  void AddWeights() {
    RandomStream stream(3, "weights");
    for (size_t k = 0; k < positive.size(); ++k) weight.push_back(0.2 + stream.Uniform());
    is_false.assign(head.size(), 0);
  }

  KgeBatch View() const {
    KgeBatch batch;
    batch.head = head;
    batch.relation = relation;
    batch.example = example;
    batch.positive_offset = offset;
    batch.positive = positive;
    batch.positive_weight = weight;
    batch.is_false = is_false;
    batch.epoch = 2;
    batch.negative = negative;
    batch.negative_log_weight = log_weight;
    return batch;
  }

  std::vector<int32_t> head, relation, positive, negative;
  std::vector<int64_t> example, offset;
  std::vector<double> weight, log_weight;
  std::vector<uint8_t> is_false;
};

inline KgeShape SampledShape(KgeModel model, KgeLoss loss, DType precision) {
  KgeShape shape;
  KgeOptions& options = shape.options;
  options.model = model;
  options.loss = loss;
  options.embedding_dim = 12;
  options.embedding_height = 4;
  options.embedding_width = 3;
  options.output_channels = 5;
  options.kernel_height = 3;
  options.kernel_width = 2;
  options.label_smoothing = 0;
  options.input_dropout = model == KgeModel::kTransE || model == KgeModel::kRotatE ? 0 : 0.2;
  options.precision = precision;
  options.seed = 7;
  shape.num_entities = 40;
  shape.num_relations = 6;
  return shape;
}

inline Tensor SampledParameters(const KgeShape& shape) {
  RandomStream stream(5, "noise");
  std::vector<double> values = InitialKgeParameters(shape, 3);
  for (double& value : values) value += 0.3 * stream.Uniform();
  if (shape.options.precision == DType::kF64) return Tensor::Of(values);
  return Tensor::Of(std::vector<float>(values.begin(), values.end()));
}

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_TRAINING_SAMPLED_TESTING_H_
