// Starts a potential from an existing model (--init_from).

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

// Reads the model of --init_from and sets the layers of `task` to the model's. nullopt without the flag.
// INVALID_ARGUMENT: flags that request other layers, a run that is certain to be resumed, and the errors of
// ReadPotential.
absl::StatusOr<std::optional<Potential>> InitialModelFromFlags(const TrainerOptions& options,
                                                               AtomisticTaskOptions* task);

// Adds the model and its hash to the metadata of outputs.
absl::Status DescribeInitialModel(Metadata* metadata);

// Sets options->initial_parameters, and prints what was taken from the model. INVALID_ARGUMENT naming the file if it
// does not fit.
absl::Status SetInitialParameters(const Potential& model, const TrainingTask& task, TrainerOptions* options);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_INIT_FLAGS_H_
