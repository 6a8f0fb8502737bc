#include "lib/kg/ranking.h"

#include "lib/base/logging.h"

// Keeps the line above first.
#include <ATen/ATen.h>

namespace rutile {
namespace {

template <typename T>
absl::Span<const T> Values(const at::Tensor& tensor) {
  return absl::MakeConstSpan(tensor.data_ptr<T>(), tensor.numel());
}

template <typename T>
std::vector<Rank> Ranks(const at::Tensor& hidden, const at::Tensor& entities, const at::Tensor& bias,
                        absl::Span<const RankingQuery> queries, ThreadPool* pool) {
  ScoreTable<T> table;
  table.entity = Values<T>(entities);
  if (bias.defined()) table.bias = Values<T>(bias);
  table.num = entities.size(0);
  table.dim = entities.size(1);
  return CountRanks<T>(table, Values<T>(hidden), queries, pool);
}

}  // namespace

std::vector<Rank> RankTargets(const at::Tensor& hidden, const at::Tensor& entities, const at::Tensor& bias,
                              absl::Span<const RankingQuery> queries, const RankingOptions& options) {
  CHECK(hidden.dim() == 2 && entities.dim() == 2 && hidden.size(1) == entities.size(1));
  CHECK(hidden.size(0) == static_cast<int64_t>(queries.size())) << hidden.size(0) << " vs. " << queries.size();
  CHECK(!bias.defined() || bias.scalar_type() == entities.scalar_type());
  const at::Tensor h = hidden.detach().contiguous(), e = entities.detach().contiguous();
  const at::Tensor b = bias.defined() ? bias.detach().contiguous() : bias;
  ThreadPool pool(options.num_threads);
  return e.scalar_type() == at::kDouble ? Ranks<double>(h, e, b, queries, &pool)
                                        : Ranks<float>(h, e, b, queries, &pool);
}

}  // namespace rutile
