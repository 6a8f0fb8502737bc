#include "lib/kge/training/sampled_reference.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "lib/kge/training/kge_reference.h"

namespace rutile {
namespace {

// A score whose exponential is 0 beside any other. With minus infinity, its product with a label of 0 would be NaN.
constexpr double kNoScore = -1e30;

std::vector<int32_t> ScoredEntities(const KgeBatch& batch) {
  std::vector<int32_t> scored(batch.negative.begin(), batch.negative.end());
  scored.insert(scored.end(), batch.positive.begin(), batch.positive.end());
  std::sort(scored.begin(), scored.end());
  scored.erase(std::unique(scored.begin(), scored.end()), scored.end());
  return scored;
}

// Returns the parameters of a model that has these entities alone.
at::Tensor ParametersOf(const KgeShape& shape, const at::Tensor& parameters, const at::Tensor& entities) {
  const KgeShape::Offsets at = shape.offsets();
  const int64_t d = shape.dim(), n = shape.num_entities;
  std::vector<at::Tensor> parts = {
      parameters.narrow(0, at.entity, n * d).view({n, d}).index_select(0, entities).flatten()};
  if (at.entity_bias >= 0) parts.push_back(parameters.narrow(0, at.entity_bias, n).index_select(0, entities));
  parts.push_back(parameters.narrow(0, at.relation, at.size - at.relation));
  return at::cat(parts);
}

}  // namespace

at::Tensor ReferenceSampledLosses(const KgeShape& shape, const at::Tensor& parameters, const KgeBatch& batch,
                                  const at::Tensor& v, Precision mixed) {
  const std::vector<int32_t> scored = ScoredEntities(batch);
  const auto size = static_cast<int64_t>(scored.size());
  const auto column = [&](int32_t entity) {
    return std::lower_bound(scored.begin(), scored.end(), entity) - scored.begin();
  };
  std::vector<double> shift(size, kNoScore);
  for (size_t c = 0; c < batch.negative.size(); ++c) shift[column(batch.negative[c])] = batch.negative_log_weight[c];
  const at::Tensor shifts = at::empty({batch.size(), size}, at::kDouble);
  std::vector<int32_t> positive(batch.positive.begin(), batch.positive.end());
  for (int64_t b = 0; b < batch.size(); ++b) {
    double* const row = shifts.data_ptr<double>() + b * size;
    std::copy(shift.begin(), shift.end(), row);
    for (int64_t k = batch.positive_offset[b]; k < batch.positive_offset[b + 1]; ++k) {
      positive[k] = static_cast<int32_t>(column(batch.positive[k]));
      row[positive[k]] = 0;
    }
  }
  const at::Tensor index = at::empty({size}, at::kLong);
  std::copy(scored.begin(), scored.end(), index.data_ptr<int64_t>());
  KgeShape among = shape;
  among.num_entities = size;
  KgeBatch own = batch;
  own.positive = positive;
  const at::Tensor of_scored = ParametersOf(shape, parameters, index.to(parameters.device()));
  const at::Tensor scores = ReferenceScores(among, of_scored, own, v, mixed);
  return ReferenceLosses(among, scores + shifts.to(scores.device()).to(scores.scalar_type()), own);
}

}  // namespace rutile
