// Chooses and makes the task that suits the data and the options.

#ifndef RUTILE_TOOLS_TRAIN_MAKE_TASK_H_
#define RUTILE_TOOLS_TRAIN_MAKE_TASK_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/model/atomistic_model.h"
#include "lib/potential/model/task_options.h"
#include "lib/task/task.h"

namespace rutile {

// The task of a potential's run.
struct TrainingTask {
  std::unique_ptr<Task> task;
  const AtomisticModel* model = nullptr;  // owned by the task
  std::string compile_message;            // what --compile_preset did; "": nothing to report
};

// True if only energies are learned, from cached features. Then AtomisticTask is used, whose batches are mere copies.
// ForceTask handles all cases, and computes neighbors and features as it needs them.
bool LearnsFromKeptFeatures(const AtomicData& data, const AtomisticTaskOptions& options);

// Returns the errors of the tasks' Create.
absl::StatusOr<TrainingTask> MakeTrainingTask(const AtomicData& data, const AtomisticTaskOptions& options,
                                              absl::Span<const int64_t> train);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_MAKE_TASK_H_
