// Evaluates loss and metrics of a set of examples under given parameters.

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
  // NaN if nothing counts in it: no example has a weight, or none has what the terms with a weight are about.
  double loss = 0;
  bool counts = true;  // false: the loss is NaN for that reason
  std::vector<Metric> metrics;
};

// Makes one pass over the loader's examples; the loader should not shuffle. Starts the epoch in task and loader.
//
// Sums are pooled over all examples before the loss is formed, so the result does not depend on the batch size.
// (aenet-python averages the losses of batches instead, which for a root mean square is a different number.) If several
// processes take part (`agreement`), each evaluates its share and all get the pooled sums. Tasks that support `device`,
// the device of training, evaluate there. CANCELLED after a signal, for a single process; otherwise the errors of the
// task and of the agreement.
absl::StatusOr<EvaluationResult> EvaluateExamples(Task& task, const Tensor& parameters, DataLoader* loader,
                                                  int64_t epoch = 0, Agreement* agreement = nullptr,
                                                  const std::string& device = "cpu");

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_STEP_EVALUATE_EXAMPLES_H_
