// What a run keeps of the model that it starts from, or of itself when it goes on: atomic energies and descriptor.

#ifndef RUTILE_TOOLS_TRAIN_RUN_MODEL_H_
#define RUTILE_TOOLS_TRAIN_RUN_MODEL_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/model/potential_file.h"
#include "lib/potential/model/task_options.h"
#include "lib/train/options/trainer_options.h"

namespace rutile {

// Returns what the checkpoint that the run in `directory` goes on from says of its model beside the parameters.
// nullopt: the run begins, or its checkpoint cannot be read, which the trainer tells, or is of a version that did not
// record it.
std::optional<Potential> ModelOfRun(const std::string& directory, const TrainerOptions& options);

// Returns the atomic energies that the checkpoint records, eV by element: all of them, unless all were fitted, which
// are not recorded. nullopt: the run begins, or --override lets them change.
std::optional<std::map<uint8_t, double>> RecordedAtomicEnergies(const std::string& directory,
                                                                const TrainerOptions& options);

// Returns the elements whose atomic energies are found in the record of a run that goes on, or else in the model that a
// new one starts from.
std::set<uint8_t> ElementsWithEnergies(const std::optional<std::map<uint8_t, double>>& recorded,
                                       const std::optional<Potential>& model);

// Completes options->atomic_energies, which are given or of isolated atoms, by those of the data, and then by
// `recorded` or, in a new run, by those of `model` (null without one). The rest are fitted to the structures `train`
// that have an energy and a weight (ChooseAtomicEnergies), unless all would be, which the task does. Prints where they
// come from, and what compositions do not determine where some are not fitted.
absl::Status CompleteAtomicEnergies(const AtomicData& data, absl::Span<const int64_t> train, const Potential* model,
                                    const std::optional<std::map<uint8_t, double>>& recorded,
                                    AtomisticTaskOptions* options);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_RUN_MODEL_H_
