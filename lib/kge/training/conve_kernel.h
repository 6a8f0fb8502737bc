// Losses of knowledge-graph embeddings and their gradients, without a graph of operations: what training runs on.
//
// Entities are scored, compared with the labels and turned into gradients a block at a time, so that no array of
// [queries, entities] exists. Batch norms and the convolution are fused with their neighbors: conv_passes.h. Matrix
// products are matrix_products.h's; what this class computes is defined by lib/kge/training/kge_reference.h.
//
// Masks of dropout, FillDropout of options.seed, batch.epoch and batch.example: kInput over the [2 d] numbers of the
// stacked image, row-major (DistMult, ComplEx: of e_h, then of w_r); kFeatureMap over [C]; kOutput over [d].
//
// The same bits for any number of threads.

#ifndef RUTILE_LIB_KGE_TRAINING_CONVE_KERNEL_H_
#define RUTILE_LIB_KGE_TRAINING_CONVE_KERNEL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/base/parallel_for.h"
#include "lib/kge/layers/batch_statistics.h"
#include "lib/kge/layers/batch_sum.h"
#include "lib/kge/layers/kge_batch.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/task/exchange.h"
#include "lib/task/gradient_observer.h"
#include "lib/task/gradient_sink.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// What becomes of a gradient beyond being added to.
struct KgeGradientUse {
  GradientObserver* observer = nullptr;  // told of ConveKernel::Early
  bool overwrite = false;                // the gradient holds anything at first: Task::SetOverwriting
  GradientSink* sink = nullptr;          // with overwrite, without observer: Task::SetSink
};

// One thread at a time may use an object. Memory grows with the largest batch seen, by about F + 12 d numbers for each
// example beside blocks of fixed size, and is kept.
class ConveKernel {
 public:
  // The shape's options have passed CheckKgeOptions. pool: not owned, may be null (one thread), outlives the kernel.
  // factors: how those of matrix products, with fc and with the table, are rounded where batch.training; sums and all
  // else stay fp32. Where it is faster: bf16_products.h. CHECK-fails for fp64.
  explicit ConveKernel(const KgeShape& shape, ThreadPool* pool = nullptr,
                       FactorRounding factors = FactorRounding::kNone);
  ~ConveKernel();
  ConveKernel(const ConveKernel&) = delete;
  ConveKernel& operator=(const ConveKernel&) = delete;

  // Norms see the batches of all processes from now on (conve_layers.h); nothing else changes for DistMult and ComplEx.
  void SetBatchSum(BatchSum sum);

  // From now on the kernel is one of several processes that own the model in parts (kge_shard.h): AccumulateGradients
  // of training batches, where a gradient is wanted, is called in all of them with the same batch, without observer.
  // loss_sum and statistics are whole; of parameters and gradient only what this process or nobody owns is read and
  // written: where nobody does the gradient is a part of a sum, elsewhere whole. With `overwrite` what others own is
  // written with anything. Not with SetBatchSum. exchange must live until the next call; nullptr: as at first.
  void SetShard(Exchange* exchange);

  // Adds to loss_sum the sum over the batch of each query's loss: binary cross-entropy is the mean over entities,
  // softmax cross-entropy is with labels normalized to a sum of 1. gradient [P]: d loss_sum / d parameters is added,
  // also where batch.training is false; null: only the loss is wanted. statistics: overwritten with what the norms saw,
  // empty where batch.training is false or a norm saw one value alone; may be null.
  // parameters, gradient: of the shape's precision (CHECK-fails otherwise), ids in range. An error is that of a sum
  // over processes.
  absl::Status AccumulateGradients(const Tensor& parameters, const KgeBatch& batch, Tensor* gradient, double* loss_sum,
                                   BatchStatistics* statistics, const KgeGradientUse& use = {});
  // The parts of the gradient that are finished before the rest: the table of entities, whose rows for heads follow
  // apart, block after block; then fc.
  static std::vector<GradientRange> Early(const KgeShape& shape);

  // v(head, relation) of Q queries with running statistics and without dropout: what tails are scored with. hidden:
  // [Q, d] of the parameters' type, overwritten. Always in full precision.
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
