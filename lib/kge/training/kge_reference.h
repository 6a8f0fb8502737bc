// Embedding models and their losses in LibTorch's operations, differentiable. They define what the kernels compute.
//
// Scores and labels are dense, [B, N]. All is on the parameters' device and in their type.

#ifndef RUTILE_LIB_KGE_TRAINING_KGE_REFERENCE_H_
#define RUTILE_LIB_KGE_TRAINING_KGE_REFERENCE_H_

#include <ATen/core/Tensor.h>

#include "lib/kge/layers/batch_statistics.h"
#include "lib/kge/layers/kge_batch.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/task/eager_options.h"

namespace rutile {

// Statistics of a batch's norms, on the parameters' device until they are fetched.
struct ReferenceStatistics {
  struct Norm {
    at::Tensor mean, variance;  // as in BatchStatistics; undefined where that is empty
  };
  Norm bn0, bn1, bn2;

  // Waits for the device, once for all of them.
  BatchStatistics Fetch() const;
};

// Hidden vectors of a batch, and the statistics of its norms.
struct KgeHidden {
  at::Tensor v;                    // [B, d]
  ReferenceStatistics statistics;  // only in training; a norm that saw a single value (bn2, in a batch of one query)
                                   // has none
};

// Computes v of each query. parameters: flat, a leaf or computed; running statistics are constants. mixed: the type of
// conv's and fc's factors (their results have the parameters' type).
//
// Dropout masks are FillDropout(options.seed, epoch, example, layer): kInput of 2 d elements, in the order of the
// stacked image (libkge: of e_h, then of w_r; models without layers: likewise, d + D); kHead of d; kRelation of D;
// kFeatureMap of C; kOutput of d.
KgeHidden ReferenceHidden(const KgeShape& shape, const at::Tensor& parameters, const KgeBatch& batch,
                          Precision mixed = Precision::kAuto);

// Returns the logits v E^T + b of a batch, [B, N], or the negative distances of v and the rows of E. With
// candidate_dropout, rows of E are multiplied by the masks FillCandidateDropout(options.seed, epoch, number, row) in
// training.
at::Tensor ReferenceScores(const KgeShape& shape, const at::Tensor& parameters, const KgeBatch& batch,
                           const at::Tensor& v, Precision mixed = Precision::kAuto);

// Returns the losses [B] of scores [B, N]: the mean over entities of the binary cross-entropy with logits, or the
// cross-entropy of the softmax over entities, with the labels of kge_labels.h.
// With group_queries, a loss counts QueryWeight times.
at::Tensor ReferenceLosses(const KgeShape& shape, const at::Tensor& scores, const KgeBatch& batch);

// Returns what the regularizer adds to each loss, [B]: the definition of embedding_penalty.h and dura_penalty.h.
// Undefined if that is nothing, for the regularizer none and for an evaluation.
at::Tensor ReferencePenalties(const KgeShape& shape, const at::Tensor& parameters, const KgeBatch& batch);

// Returns what relation_prediction adds to each loss, [B]: the definition of relation_prediction.h. Undefined if that
// is nothing, and for an evaluation.
at::Tensor ReferenceRelationLosses(const KgeShape& shape, const at::Tensor& parameters, const KgeBatch& batch,
                                   Precision mixed = Precision::kAuto);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_TRAINING_KGE_REFERENCE_H_
