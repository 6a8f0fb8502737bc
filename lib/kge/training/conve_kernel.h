// Losses of knowledge-graph embeddings and their gradients, without a graph of operations: what training runs on.
//
// Entities are scored, compared with the labels and turned into gradients a block at a time, so that no array of
// [queries, entities] exists. Batch norms and the convolution are fused with the layers around them (conv_passes.h),
// and matrix products are those of matrix_products.h. lib/kge/training/kge_reference.h defines the results.
//
// Dropout masks are FillDropout of options.seed, batch.epoch and batch.example: kInput over the [2 d] numbers of the
// stacked image, row-major (models without layers: [d + D], of e_h, then of w_r, or kHead over [d] and kRelation over
// [D]); kFeatureMap over [C]; kOutput over [d]. The candidates' masks are FillCandidateDropout of options.seed,
// batch.epoch, batch.number and the entity, over [d].
//
// Results have the same bits for any number of threads.

#ifndef RUTILE_LIB_KGE_TRAINING_CONVE_KERNEL_H_
#define RUTILE_LIB_KGE_TRAINING_CONVE_KERNEL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/kge/layers/batch_statistics.h"
#include "lib/kge/layers/batch_sum.h"
#include "lib/kge/layers/kge_batch.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/machine/parallel_for.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/task/exchange.h"
#include "lib/task/gradients/gradient_delivery.h"
#include "lib/task/gradients/gradient_observer.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Computes losses and gradients of any of the models (despite its name). An object is used by one thread at a time. Its
// memory grows with the largest batch seen, by about F + 12 d numbers for each example beside blocks of fixed size, and
// is not freed before the object.
class ConveKernel {
 public:
  // The shape's options must have passed CheckKgeOptions. pool is not owned, may be null (one thread), and outlives the
  // kernel. factors: how factors of matrix products with fc and with the table are rounded if batch.training; sums and
  // all else stay fp32. bf16_products.h says where that is faster. CHECK-fails for rounding in fp64.
  explicit ConveKernel(const KgeShape& shape, ThreadPool* pool = nullptr,
                       FactorRounding factors = FactorRounding::kNone);
  ~ConveKernel();
  ConveKernel(const ConveKernel&) = delete;
  ConveKernel& operator=(const ConveKernel&) = delete;

  // From now on norms use the batches of all processes (conve_layers.h), which ConvE alone has.
  void SetBatchSum(BatchSum sum);

  // Makes this kernel one of several processes that own the model in parts (kge_shard.h): AccumulateGradients of
  // training batches, if a gradient is asked for, is called in all of them with the same batch, without observer.
  // loss_sum and statistics are those of the whole model. Only parameters and gradients that this process owns or that
  // are replicated are read and written; the gradient of replicated ones is one process's addend of the sum, that of
  // owned ones is complete. If it is overwritten, the gradient that others own is unspecified. Not together with
  // SetBatchSum. exchange must live until the next call; nullptr, the default, for a model in one process. CHECK-fails
  // if CanShard is false.
  void SetShard(Exchange* exchange);

  // Adds the sum of the batch's losses to loss_sum: binary cross-entropy is the mean over entities, softmax
  // cross-entropy has labels normalized to a sum of 1, and counts QueryWeight times. A training batch's sum includes
  // what the regularizer (embedding_penalty.h, dura_penalty.h) and relation_prediction (relation_prediction.h) add.
  // Adds d loss_sum / d parameters to gradient [P], also if batch.training is false, where `delivery` says; gradient is
  // null if only the loss is wanted. A batch with negatives has the loss of sampled_scores.h. Overwrites statistics,
  // which may be null, with those of the norms; they are empty if batch.training is false or a norm saw a single value.
  // parameters and gradient are of the shape's precision (CHECK-fails otherwise), ids in range. An error is that of a
  // sum over processes.
  absl::Status AccumulateGradients(const Tensor& parameters, const KgeBatch& batch, Tensor* gradient, double* loss_sum,
                                   BatchStatistics* statistics,
                                   const GradientDelivery& delivery = GradientDelivery::Add());
  // Returns the parts of the gradient that are announced before the rest, in this order: the table of entities block by
  // block, to whose rows of heads GradientObserver::AddLater adds; then fc.
  static std::vector<GradientRange> Early(const KgeShape& shape);

  // Computes v(head, relation) of Q queries with running statistics and without dropout, with which tails are scored.
  // Overwrites hidden [Q, d] of the parameters' type. Always in full precision.
  void Hidden(const Tensor& parameters, absl::Span<const int32_t> heads, absl::Span<const int32_t> relations,
              Tensor* hidden);

 private:
  class Impl;
  template <typename T>
  class ImplOf;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_TRAINING_CONVE_KERNEL_H_
