// Embedding models and their losses in LibTorch's operations, differentiable: what the kernels must agree with.
//
// Dense: scores and labels are [B, N]. All is on the parameters' device and in their type.

#ifndef RUTILE_LIB_KGE_TRAINING_KGE_REFERENCE_H_
#define RUTILE_LIB_KGE_TRAINING_KGE_REFERENCE_H_

#include <ATen/core/Tensor.h>

#include "lib/kge/layers/batch_statistics.h"
#include "lib/kge/layers/kge_batch.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/task/eager_options.h"

namespace rutile {

struct KgeHidden {
  at::Tensor v;                // [B, d]
  BatchStatistics statistics;  // training alone; a norm that saw one value (bn2, in a batch of one query) has none
};

// v of each query. parameters: flat, a leaf or computed; running statistics are constants. mixed: the type in which
// conv and fc multiply (their sums go on in the parameters' type).
//
// Dropout masks, all of FillDropout(options.seed, epoch, example, layer): kInput of 2 d elements, in the order of the
// stacked image (libkge, DistMult, ComplEx: of e_h, then of w_r); kFeatureMap of C; kOutput of d.
KgeHidden ReferenceHidden(const KgeShape& shape, const at::Tensor& parameters, const KgeBatch& batch,
                          MixedPrecision mixed = MixedPrecision::kNone);

// [B, N] = v E^T + b, as logits.
at::Tensor ReferenceScores(const KgeShape& shape, const at::Tensor& parameters, const at::Tensor& v,
                           MixedPrecision mixed = MixedPrecision::kNone);

// [B] of scores [B, N]: the mean over entities of the binary cross-entropy with logits, or the cross-entropy of the
// softmax over entities, with the labels of kge_labels.h.
at::Tensor ReferenceLosses(const KgeShape& shape, const at::Tensor& scores, const KgeBatch& batch);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_TRAINING_KGE_REFERENCE_H_
