// The sampled softmax in LibTorch's operations, differentiable: the definition of what sampled_scores.h computes.

#ifndef RUTILE_LIB_KGE_TRAINING_SAMPLED_REFERENCE_H_
#define RUTILE_LIB_KGE_TRAINING_SAMPLED_REFERENCE_H_

#include <ATen/core/Tensor.h>

#include "lib/kge/layers/kge_batch.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/task/eager_options.h"

namespace rutile {

// Returns the losses [B] of hidden vectors v [B, d] among the batch's negatives and own tails: those of
// ReferenceLosses (kge_reference.h) for a model that has no other entities, where the logarithm of its weight is added
// to the score of a negative, and a query does not score what is neither its own tail nor a negative.
at::Tensor ReferenceSampledLosses(const KgeShape& shape, const at::Tensor& parameters, const KgeBatch& batch,
                                  const at::Tensor& v, Precision mixed = Precision::kAuto);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_TRAINING_SAMPLED_REFERENCE_H_
