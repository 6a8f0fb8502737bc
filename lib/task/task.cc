#include "lib/task/task.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "lib/base/logging.h"
#include "lib/task/reference_gradients.h"
#include "lib/task/sampling_policy.h"

namespace rutile {

void TermSums::Add(const TermSums& other) {
  CHECK_EQ(sum.size(), other.sum.size());
  for (size_t t = 0; t < sum.size(); ++t) {
    sum[t] += other.sum[t];
    count[t] += other.count[t];
  }
}

absl::StatusOr<std::vector<double>> Task::SamplingWeights(SamplingPolicy policy, absl::Span<const int64_t> examples) {
  return absl::InvalidArgumentError(
      absl::StrCat("sampling_policy is ", SamplingPolicyName(policy), ", which these data do not offer; use uniform"));
}

absl::Status Task::SetState(const NamedTensors& state) {
  if (state.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("it holds '", state.begin()->first, "' of the task, which keeps nothing"));
}

absl::StatusOr<std::vector<std::vector<GradientRange>>> Task::ShardModel(Exchange* exchange) {
  if (exchange == nullptr) return std::vector<std::vector<GradientRange>>();
  return absl::InvalidArgumentError("this model cannot be divided over processes: divide its data (ddp)");
}

int64_t Task::num_parameters() const {
  int64_t end = 0;
  for (const ParameterSlice& slice : parameter_slices()) end = std::max(end, slice.offset + slice.num_elements());
  return end;
}

at::Tensor Task::EagerLosses(const at::Tensor& parameters, const NamedTensors& batch,
                             const EagerOptions& options) const {
  CHECK(options.plain());
  return ExampleLosses(parameters, batch);
}

absl::Status Task::CheckEager(const EagerOptions& options) const {
  if (options.plain()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "this task has neither mixed precision nor script, and no other device than the CPU");
}

absl::Status Task::AccumulateGradients(const Tensor& parameters, const NamedTensors& batch,
                                       absl::Span<Tensor> gradients, TermSums* sums) {
  return ReferenceGradients(*this, parameters, batch, gradients, sums);
}

void Task::EvaluateEager(const at::Tensor& parameters, const NamedTensors& batch, TermSums* sums,
                         absl::Span<double> metric_sums) const {
  LOG(FATAL) << "this task evaluates on the CPU alone";
}

}  // namespace rutile
