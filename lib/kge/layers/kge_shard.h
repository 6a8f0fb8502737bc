// A model of embeddings spread over processes, as tensor parallelism has it (Shoeybi et al., Megatron-LM,
// arXiv:1909.08053): each owns some rows of entities and of relations, some channels of ConvE's convolution, and the
// columns of fc that read these.
//
// All work on the whole batch. What they exchange are rows of embeddings, fc's results, the slopes of v and of the
// images: numbers that grow with batch and embedding alone, while data-parallel training adds up gradients as large as
// the model. Norms see the whole batch, and dropout is that of one process.

#ifndef RUTILE_LIB_KGE_LAYERS_KGE_SHARD_H_
#define RUTILE_LIB_KGE_LAYERS_KGE_SHARD_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/task/exchange.h"
#include "lib/task/gradient_observer.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Numbers [begin, end).
struct ShardRange {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size() const { return end - begin; }
  bool holds(int64_t i) const { return begin <= i && i < end; }
};

// What one of the processes owns.
struct KgeParts {
  ShardRange entities, relations, channels;
};

class KgeShard {
 public:
  // This process's. exchange must outlive it.
  KgeShard(const KgeShape& shape, Exchange* exchange);

  int rank() const { return exchange_->rank(); }
  int num_ranks() const { return exchange_->size(); }
  ShardRange entities() const { return parts_.entities; }
  ShardRange relations() const { return parts_.relations; }
  ShardRange channels() const { return parts_.channels; }

  // In place, over all processes. After an error nothing is exchanged any more, and results mean nothing.
  void Sum(absl::Span<double> values);
  void Sum(Tensor* values);
  // Both in one go: `values` [n] travel as 2 n more numbers at the end of `memory`, F32 or F64, which are there for
  // them. In fp32 two numbers hold 48 bits of one.
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

// What each of so many processes owns of the flat parameters, by rank, ascending. Nobody owns norms, the convolution's
// weights and fc's bias.
std::vector<std::vector<GradientRange>> OwnedParameters(const KgeShape& shape, int num_ranks);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_LAYERS_KGE_SHARD_H_
