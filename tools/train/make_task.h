// From data and options to the task that suits them.

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

struct TrainingTask {
  std::unique_ptr<Task> task;
  const AtomisticModel* model = nullptr;  // the task's
  std::string compile_message;            // what --compile_preset did; "": nothing to say
};

// Whether nothing but energies is learned, on features that are kept: then AtomisticTask serves, whose batches are
// copies. ForceTask can all of it, and finds neighbors and features as it needs them.
bool LearnsFromKeptFeatures(const AtomicData& data, const AtomisticTaskOptions& options);

// Errors of the tasks' Create.
absl::StatusOr<TrainingTask> MakeTrainingTask(const AtomicData& data, const AtomisticTaskOptions& options,
                                              absl::Span<const int64_t> train);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_MAKE_TASK_H_
