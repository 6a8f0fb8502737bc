// Errors of predicted energies, in all and by group, as people quote them.

#ifndef RUTILE_LIB_EVALUATION_ENERGY_ERRORS_H_
#define RUTILE_LIB_EVALUATION_ENERGY_ERRORS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace rutile {

// One structure and what was predicted for it.
struct EnergyPrediction {
  std::string name;
  std::string config_type;  // "" where it has none
  std::string composition;  // "Ti2O4": species in the model's order, with their numbers
  int64_t num_atoms = 0;
  double reference = 0;  // eV, total; NaN where the data has none
  double predicted = 0;  // eV, total
};

// Over the structures of a group that have a reference energy.
struct EnergyErrors {
  std::string grouping;  // "all", "config_type" or "composition"
  std::string group;     // "rutile"; "" for all
  int64_t structures = 0;
  int64_t atoms = 0;
  double rmse_per_atom = 0;  // meV/atom: root of the mean over structures of (error / atoms)^2
  double mae_per_atom = 0;   // meV/atom
  double max_per_atom = 0;   // meV/atom, largest absolute error
  double rmse_total = 0;     // eV
  double mae_total = 0;      // eV
};

// All first, then each config_type and each composition by name; groupings with one group only are left out, since they
// would repeat "all". Empty when no structure has a reference energy.
std::vector<EnergyErrors> ComputeEnergyErrors(absl::Span<const EnergyPrediction> predictions);

// A header row that names units, then a row for each group.
std::string EnergyErrorsToTsv(absl::Span<const EnergyErrors> errors);

// A header row, then a row for each structure: name, config_type, composition, atoms, energies (eV), error (meV/atom).
std::string PredictionsToTsv(absl::Span<const EnergyPrediction> predictions);

}  // namespace rutile

#endif  // RUTILE_LIB_EVALUATION_ENERGY_ERRORS_H_
