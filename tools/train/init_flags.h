// Starting from a model: --init_from.

#ifndef RUTILE_TOOLS_TRAIN_INIT_FLAGS_H_
#define RUTILE_TOOLS_TRAIN_INIT_FLAGS_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/potential/model/potential_file.h"
#include "lib/potential/model/task_options.h"
#include "lib/tensorfile/tensor_file.h"
#include "lib/train/options/trainer_options.h"
#include "tools/train/make_task.h"

namespace rutile {

// The model of --init_from; its layers become those of `task`. Nothing without the flag. INVALID_ARGUMENT: flags that
// say other layers, a run that is resumed in any case, and the errors of ReadPotential.
absl::StatusOr<std::optional<Potential>> InitialModelFromFlags(const TrainerOptions& options,
                                                               AtomisticTaskOptions* task);

// The model and its hash, for the metadata of what is written.
absl::Status DescribeInitialModel(Metadata* metadata);

// Sets options->initial_parameters, and says what was taken. INVALID_ARGUMENT naming the file when it does not fit.
absl::Status SetInitialParameters(const Potential& model, const TrainingTask& task, TrainerOptions* options);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_INIT_FLAGS_H_
