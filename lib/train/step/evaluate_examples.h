// Loss and metrics of a set of examples under given parameters.

#ifndef RUTILE_LIB_TRAIN_STEP_EVALUATE_EXAMPLES_H_
#define RUTILE_LIB_TRAIN_STEP_EVALUATE_EXAMPLES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/distributed/agreement.h"
#include "lib/task/task.h"
#include "lib/train/step/data_loader.h"

namespace rutile {

struct EvaluationResult {
  TermSums sums;
  double loss = 0;
  std::vector<Metric> metrics;
};

// One pass over the loader's examples (it should not shuffle); task and loader are told of the epoch here. Sums are
// pooled over all examples before the loss is formed, so the result does not depend on the batch size. (aenet-python
// averages the losses of batches instead, which for a root mean square is another number.) With others (agreement) each
// evaluates its share, sums are those of all, and all agree at the end. CANCELLED after a signal, when alone; otherwise
// the errors of the task and of agreeing. device: where training is; tasks that can evaluate there do.
absl::StatusOr<EvaluationResult> EvaluateExamples(Task& task, const Tensor& parameters, DataLoader* loader,
                                                  int64_t epoch = 0, Agreement* agreement = nullptr,
                                                  const std::string& device = "cpu");

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_STEP_EVALUATE_EXAMPLES_H_
