// Starts potentials from existing models (--init_from).

#ifndef RUTILE_TOOLS_TRAIN_INIT_FLAGS_H_
#define RUTILE_TOOLS_TRAIN_INIT_FLAGS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/potential/model/potential_file.h"
#include "lib/potential/model/task_options.h"
#include "lib/tensorfile/tensor_file.h"
#include "lib/train/options/trainer_options.h"
#include "tools/train/make_task.h"

namespace rutile {

// A model from which a run starts.
struct InitialModel {
  Potential potential;
  std::string name;  // its path, or those of aenet's networks separated by commas
};

// Returns the files that --init_from names, with its globs expanded in the order of names; none without the flag.
// INVALID_ARGUMENT: a glob that no name fits.
absl::StatusOr<std::vector<std::string>> InitialFiles();

// Reads the models of --init_from, one for all members of a committee or one for each, and sets the layers of `task` to
// theirs. Empty without the flag. INVALID_ARGUMENT: flags that request other layers, models of different layers or
// descriptors, neither one model nor one for each of `members`, a run that is certain to be resumed, and the errors of
// OpenPotentials.
absl::StatusOr<std::vector<InitialModel>> InitialModelsFromFlags(const TrainerOptions& options, size_t members,
                                                                 AtomisticTaskOptions* task);

// Returns the model of that member; null without any.
const InitialModel* InitialModelOf(const std::vector<InitialModel>& models, size_t member);

// Returns the metadata of outputs, with the model of that name (InitialModel) and its hash.
Metadata WithInitialModel(const std::string& name, Metadata metadata);
// Adds the one model that --init_from names, if any.
absl::Status DescribeInitialModel(Metadata* metadata);

// Sets options->initial_parameters, and prints what was taken from the model. INVALID_ARGUMENT naming the file if it
// does not fit.
absl::Status SetInitialParameters(const InitialModel& model, const TrainingTask& task, TrainerOptions* options);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_INIT_FLAGS_H_
