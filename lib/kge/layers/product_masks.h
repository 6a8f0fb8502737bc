// Dropout masks of a query's head and relation, for the models without layers.

#ifndef RUTILE_LIB_KGE_LAYERS_PRODUCT_MASKS_H_
#define RUTILE_LIB_KGE_LAYERS_PRODUCT_MASKS_H_

#include <algorithm>
#include <cstdint>

#include "absl/types/span.h"
#include "lib/kge/layers/dropout.h"
#include "lib/kge/layers/kge_batch.h"
#include "lib/kge/model/kge_options.h"

namespace rutile {

// True if the rows of relations are multiplied by masks.
inline bool DropsRelations(const KgeOptions& options, const KgeBatch& batch) {
  return batch.training && (options.input_dropout > 0 || options.relation_dropout > 0);
}

// True if the rows of heads or relations are multiplied by masks.
inline bool DropsRows(const KgeOptions& options, const KgeBatch& batch) {
  return DropsRelations(options, batch) || (batch.training && options.entity_dropout > 0);
}

// Fills the masks of e_h [d] and then of w_r [D] of query e. masks: [d + D], or [d] without DropsRelations.
template <typename T>
void FillProductMasks(const KgeOptions& options, const KgeBatch& batch, int64_t e, absl::Span<T> masks) {
  const auto fill = [&](DropoutLayer layer, double rate, absl::Span<T> part) {
    if (rate > 0) FillDropout(options.seed, batch.epoch, batch.example[e], layer, rate, part);
  };
  std::fill(masks.begin(), masks.end(), T(1));
  if (!batch.training) return;
  if (options.input_dropout > 0) return fill(DropoutLayer::kInput, options.input_dropout, masks);
  const size_t d = static_cast<size_t>(options.embedding_dim);
  fill(DropoutLayer::kHead, options.entity_dropout, masks.first(d));
  fill(DropoutLayer::kRelation, options.relation_dropout, masks.subspan(d));
}

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_LAYERS_PRODUCT_MASKS_H_
