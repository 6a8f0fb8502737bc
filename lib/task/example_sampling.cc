#include "lib/task/example_sampling.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/task/task.h"

namespace rutile {

absl::StatusOr<std::vector<double>> SamplingWeightsOf(Task& task, SamplingPolicy policy,
                                                      absl::Span<const int64_t> examples) {
  ExampleSampling* const sampling = task.sampling();
  if (sampling != nullptr) return sampling->SamplingWeights(policy, examples);
  return absl::InvalidArgumentError(absl::StrCat("sampling_policy is ", kSamplingPolicyNames.Name(policy),
                                                 ", which these data do not offer; use uniform"));
}

}  // namespace rutile
