// An embedding model sharded over processes by tensor parallelism (Shoeybi et al., Megatron-LM, arXiv:1909.08053): each
// process owns some rows of entities and of relations, some channels of ConvE's convolution, and the columns of fc that
// read these.
//
// All processes work on the whole batch. They exchange rows of embeddings, fc's results, and the gradients of v and of
// the images, whose sizes grow only with batch and embedding, while data-parallel training sums gradients as large as
// the model. Norms use the whole batch, and dropout is that of a single process.

#ifndef RUTILE_LIB_KGE_LAYERS_KGE_SHARD_H_
#define RUTILE_LIB_KGE_LAYERS_KGE_SHARD_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/task/exchange.h"
#include "lib/task/gradients/gradient_observer.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Indices [begin, end).
struct ShardRange {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size() const { return end - begin; }
  bool holds(int64_t i) const { return begin <= i && i < end; }
};

// The parts of a model that one process owns.
struct KgeParts {
  ShardRange entities, relations, channels;
};

// This process's part of a sharded model, and its sums over all processes.
class KgeShard {
 public:
  // The part of process exchange->rank(). exchange must outlive this object.
  KgeShard(const KgeShape& shape, Exchange* exchange);

  int rank() const { return exchange_->rank(); }
  int num_ranks() const { return exchange_->size(); }
  ShardRange entities() const { return parts_.entities; }
  ShardRange relations() const { return parts_.relations; }
  ShardRange channels() const { return parts_.channels; }

  // Sum over all processes, in place. After an error nothing is exchanged any more, and results are meaningless.
  void Sum(absl::Span<double> values);
  void Sum(Tensor* values);
  // Sums both in one message: `values` [n] travel as the last 2 n numbers of `memory` (F32 or F64), which are reserved
  // for them. In fp32 two numbers hold 48 bits of an fp64 number.
  template <typename T>
  void Sum(Tensor* memory, absl::Span<double> values);
  const absl::Status& status() const { return status_; }

 private:
  Exchange* const exchange_;
  const KgeParts parts_;
  absl::Status status_;
};

extern template void KgeShard::Sum<float>(Tensor* memory, absl::Span<double> values);
extern template void KgeShard::Sum<double>(Tensor* memory, absl::Span<double> values);

// Returns the ranges of the flat parameters that each of num_ranks processes owns, by rank, ascending. Norms, the
// convolution's weights and fc's bias are replicated.
std::vector<std::vector<GradientRange>> OwnedParameters(const KgeShape& shape, int num_ranks);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_LAYERS_KGE_SHARD_H_
