#include "lib/train/step/evaluate_examples.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/base/interrupt.h"
#include "lib/base/status_macros.h"
#include "lib/task/torch/eager_evaluation.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

// A loss is a sum of means by term, or of their roots: if each value were 1, it would be the sum of the weights of the
// terms that have values.
bool AnythingCounts(const Task& task, const TermSums& sums) {
  TermSums ones = sums;
  ones.sum = ones.count;
  return task.CombineTerms(ones).value != 0;
}

}  // namespace

absl::StatusOr<EvaluationResult> EvaluateExamples(Task& task, const Tensor& parameters, DataLoader* loader,
                                                  int64_t epoch, Agreement* agreement, const std::string& device) {
  const ProfileScope scope(Stage::kValidation);
  const bool alone = agreement == nullptr || agreement->alone();
  EvaluationResult result;
  result.sums = TermSums(static_cast<int>(task.terms().size()));
  std::vector<double> metric_sums(task.num_metric_sums());
  loader->EndEpoch();
  task.StartEpoch(epoch, /*training=*/false);
  loader->StartEpoch(0);
  const auto end = absl::MakeCleanup([loader] { loader->EndEpoch(); });
  std::optional<EagerEvaluation> eager;
  if (device != "cpu" && EvaluatesOnDevices(task)) eager.emplace(task, parameters, device);
  while (true) {
    if (alone) RETURN_IF_ERROR(CheckInterrupt());
    ASSIGN_OR_RETURN(const NamedTensors* batch, loader->Next());
    if (batch == nullptr) break;
    if (loader->examples().empty()) continue;
    scope.Add(Counter::kExamples, static_cast<int64_t>(loader->examples().size()));
    const absl::Span<double> metrics = absl::MakeSpan(metric_sums);
    RETURN_IF_ERROR(eager ? eager->Add(*batch, &result.sums, metrics)
                          : task.Evaluate(parameters, *batch, &result.sums, metrics));
  }
  if (!alone) RETURN_IF_ERROR(agreement->Sum(&result.sums, absl::MakeSpan(metric_sums)));
  result.counts = AnythingCounts(task, result.sums);
  result.loss = result.counts ? task.CombineTerms(result.sums).value : std::numeric_limits<double>::quiet_NaN();
  result.metrics = task.Metrics(metric_sums);
  return result;
}

}  // namespace rutile
