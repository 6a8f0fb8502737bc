// Errors of predicted energies, forces and stresses, in all and by group, as people quote them.

#ifndef RUTILE_LIB_EVALUATION_PREDICTION_ERRORS_H_
#define RUTILE_LIB_EVALUATION_PREDICTION_ERRORS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/evaluation/structure_prediction.h"

namespace rutile {

// One quantity over one group. Quantities:
//   energy        meV/atom      error of the energy / atoms, of each structure
//   energy_total  eV            error of the energy of each structure
//   force         eV/Angstrom   error of each component
//   force_vector  eV/Angstrom   length of the error vector of each atom
//   stress        eV/Angstrom^3 error of each of the 9 components (so that it does not depend on the axes)
//   stress_gpa    GPa           the same
//   net_force     eV/Angstrom   |sum of the predicted forces| of each structure, which should be 0
//   energy_spread meV/atom      of a committee: spread of the energy / atoms, of each structure
//   force_spread  eV/Angstrom   of a committee: of each atom
struct ErrorRow {
  std::string grouping;  // "all", "config_type", "composition" or, for forces, "species"
  std::string group;     // "rutile"; "" for all
  std::string quantity;
  std::string unit;   // of rmse, mae and max
  int64_t count = 0;  // of values
  double rmse = 0;    // root of the mean square
  double mae = 0;     // mean absolute value
  double max = 0;     // largest absolute value
};

// All first, then each config_type, composition and species by name; groupings with one group only are left out, since
// they would repeat "all", and so are quantities without values. energy_total, stress_gpa and net_force are for all
// structures only.
std::vector<ErrorRow> ComputeErrors(absl::Span<const StructurePrediction> predictions);

// Of all structures; null where there is none.
const ErrorRow* FindError(absl::Span<const ErrorRow> rows, absl::string_view quantity);

// A limit that the user sets on the RMSE of a quantity, in its unit; infinity: none.
struct ErrorLimit {
  std::string flag;      // "--max_force_rmse", for the message
  std::string quantity;  // "force"
  double max_rmse;
};

// FAILED_PRECONDITION when the RMSE over all structures is above a limit, or there is nothing to compare.
absl::Status CheckErrorLimits(absl::Span<const ErrorRow> rows, absl::Span<const ErrorLimit> limits);

// How many structures have atoms outside the range of training, and the names of the first; "" when none has.
std::string ExtrapolationWarning(absl::Span<const StructurePrediction> predictions);

// |sum of the predicted forces|, eV/Angstrom.
double NetForce(const StructurePrediction& prediction);

// rmse, mae or max with as many digits as the quantity deserves.
std::string FormatError(const ErrorRow& row, double value);

// A header row, then a row for each.
std::string ErrorsToTsv(absl::Span<const ErrorRow> rows);

}  // namespace rutile

#endif  // RUTILE_LIB_EVALUATION_PREDICTION_ERRORS_H_
