// The methods of KgeTask that use LibTorch, which define its loss. They have a file of their own, so that only this one
// includes LibTorch.

#include <ATen/ATen.h>

#include <utility>

#include "lib/base/logging.h"
#include "lib/kge/training/device_ranks.h"
#include "lib/kge/training/distinct_queries.h"
#include "lib/kge/training/kge_reference.h"
#include "lib/kge/training/kge_task.h"
#include "lib/kge/training/sampled_reference.h"
#include "lib/task/precision.h"

namespace rutile {
namespace {

// Returns the losses [B, 1].
at::Tensor Losses(const KgeShape& shape, const at::Tensor& parameters, const NamedTensors& batch, Precision mixed,
                  ReferenceStatistics* statistics) {
  const KgeBatch view = ViewKgeBatch(batch);
  KgeHidden hidden = ReferenceHidden(shape, parameters, view, mixed);
  if (statistics != nullptr) *statistics = std::move(hidden.statistics);
  at::Tensor losses = view.negative.empty()
                          ? ReferenceLosses(shape, ReferenceScores(shape, parameters, view, hidden.v, mixed), view)
                          : ReferenceSampledLosses(shape, parameters, view, hidden.v, mixed);
  for (const at::Tensor& added :
       {ReferencePenalties(shape, parameters, view), ReferenceRelationLosses(shape, parameters, view, mixed)}) {
    if (added.defined()) losses = losses + added;
  }
  return losses.unsqueeze(1);
}

}  // namespace

at::Tensor KgeTask::ExampleLosses(const at::Tensor& parameters, const NamedTensors& batch) const {
  return Losses(shape_, parameters, batch, Precision::kAuto, nullptr);
}

at::Tensor KgeTask::EagerLosses(const at::Tensor& parameters, const NamedTensors& batch,
                                const EagerOptions& options) const {
  ReferenceStatistics statistics;
  at::Tensor losses = Losses(shape_, parameters, batch, options.precision, &statistics);
  if (!IsEvaluation(batch)) seen_.push_back([statistics = std::move(statistics)] { return statistics.Fetch(); });
  return losses;
}

void KgeTask::EvaluateEager(const at::Tensor& parameters, const NamedTensors& batch, TermSums* sums,
                            absl::Span<double> metric_sums) const {
  CHECK(IsEvaluation(batch)) << "a batch of a training epoch";
  const KgeBatch view = ViewKgeBatch(batch);
  const at::Tensor scores = ReferenceScores(shape_, parameters, view, ReferenceHidden(shape_, parameters, view).v);
  sums->sum[0] += ReferenceLosses(shape_, scores, view).sum(at::kDouble).item<double>();
  sums->count[0] += CountOf(batch);
  const DistinctQueries distinct = FindDistinct(batch);
  AddMetrics(CountRanksOnDevice(scores.contiguous(), distinct.row, distinct.Queries()), metric_sums);
}

}  // namespace rutile
