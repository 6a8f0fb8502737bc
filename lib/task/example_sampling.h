// A capability of tasks that know which examples are worth more than others.

#ifndef RUTILE_LIB_TASK_EXAMPLE_SAMPLING_H_
#define RUTILE_LIB_TASK_EXAMPLE_SAMPLING_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/task/sampling_policy.h"

namespace rutile {

class Task;

// Task::sampling() returns it.
class ExampleSampling {
 public:
  virtual ~ExampleSampling() = default;

  // Returns how often each of `examples` shall be drawn relative to the others, for policies other than kUniform:
  // finite weights >= 0 that are not all 0. It is called after Task::StartEpoch; a task may start to remember errors
  // when it is asked for kErrorWeighted.
  virtual std::vector<double> SamplingWeights(SamplingPolicy policy, absl::Span<const int64_t> examples) = 0;
};

// Returns the task's SamplingWeights. INVALID_ARGUMENT naming the policy if the task has no ExampleSampling.
absl::StatusOr<std::vector<double>> SamplingWeightsOf(Task& task, SamplingPolicy policy,
                                                      absl::Span<const int64_t> examples);

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_EXAMPLE_SAMPLING_H_
