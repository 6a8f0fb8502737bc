#include "lib/kge/layers/kge_shard.h"

namespace rutile {
namespace {

// Returns a rank's share of n; shares differ by one at most.
ShardRange Share(int64_t n, int rank, int num_ranks) { return {n * rank / num_ranks, n * (rank + 1) / num_ranks}; }

KgeParts PartsOf(const KgeShape& shape, int rank, int num_ranks) {
  return {Share(shape.num_entities, rank, num_ranks), Share(shape.num_relations, rank, num_ranks),
          Share(shape.is_conve() ? shape.options.output_channels : 0, rank, num_ranks)};
}

}  // namespace

KgeShard::KgeShard(const KgeShape& shape, Exchange* exchange)
    : exchange_(exchange), parts_(PartsOf(shape, exchange->rank(), exchange->size())) {}

void KgeShard::Sum(absl::Span<double> values) {
  if (status_.ok()) status_ = exchange_->Sum(values);
}

void KgeShard::Sum(Tensor* values) {
  if (status_.ok()) status_ = exchange_->Sum(values);
}

template <typename T>
void KgeShard::Sum(Tensor* memory, absl::Span<double> values) {
  const absl::Span<T> all = memory->mutable_values<T>();
  T* const high = all.data() + all.size() - 2 * values.size();
  T* const low = high + values.size();
  for (size_t i = 0; i < values.size(); ++i) {
    high[i] = static_cast<T>(values[i]);
    low[i] = static_cast<T>(values[i] - static_cast<double>(high[i]));
  }
  Sum(memory);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(high[i]) + static_cast<double>(low[i]);
}

template void KgeShard::Sum<float>(Tensor* memory, absl::Span<double> values);
template void KgeShard::Sum<double>(Tensor* memory, absl::Span<double> values);

std::vector<std::vector<GradientRange>> OwnedParameters(const KgeShape& shape, int num_ranks) {
  const KgeShape::Offsets at = shape.offsets();
  const int64_t d = shape.dim();
  std::vector<std::vector<GradientRange>> owned(num_ranks);
  for (int rank = 0; rank < num_ranks; ++rank) {
    const auto add = [&](int64_t begin, int64_t end) {
      if (begin < end) owned[rank].push_back({begin, end});
    };
    const auto [entities, relations, channels] = PartsOf(shape, rank, num_ranks);
    add(at.entity + entities.begin * d, at.entity + entities.end * d);
    if (at.entity_bias >= 0) add(at.entity_bias + entities.begin, at.entity_bias + entities.end);
    const int64_t relation_dim = shape.relation_dim();
    add(at.relation + relations.begin * relation_dim, at.relation + relations.end * relation_dim);
    if (!shape.is_conve()) continue;
    for (int64_t row = 0; row < d; ++row) {
      const int64_t begin = at.fc_weight + row * shape.num_features();
      add(begin + channels.begin * shape.map_size(), begin + channels.end * shape.map_size());
    }
  }
  return owned;
}

}  // namespace rutile
