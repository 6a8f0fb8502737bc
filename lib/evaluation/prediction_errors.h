// Errors of predicted energies, forces and stresses, over all structures and by group.
//
//   const std::vector<ErrorRow> rows = ComputeErrors(predictions);
//   if (const ErrorRow* force = FindError(rows, "force")) {
//     text = absl::StrCat(FormatError(*force, force->rmse), " ", force->unit);  // over all structures
//   }
//   const ErrorLimit limits[] = {{"--max_force_rmse", "force", 0.1}};
//   RETURN_IF_ERROR(CheckErrorLimits(rows, limits));

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

// The errors of one quantity over one group. Quantities are
//   energy        meV/atom      error of the energy / atoms of each structure
//   energy_total  eV            error of the energy of each structure
//   force         eV/Angstrom   error of each component
//   force_vector  eV/Angstrom   length of the error vector of each atom
//   stress        eV/Angstrom^3 error of each of the 9 components (so that it does not depend on the axes)
//   stress_gpa    GPa           error of each of the 9 components
//   net_force     eV/Angstrom   |sum of the predicted forces| of each structure, which should be 0
//   energy_spread meV/atom      spread of a committee's energy / atoms of each structure
//   force_spread  eV/Angstrom   spread of a committee's force on each atom
//   energy_std    meV/atom      standard deviation of the energy / atoms of each structure
//   force_std     eV/Angstrom   standard deviation of each component
struct ErrorRow {
  std::string grouping;  // "all", "isolated_atoms", "config_type", "composition" or, for forces, "species"
  std::string group;     // "rutile"; "" for all and isolated_atoms
  std::string quantity;
  std::string unit;   // unit of rmse, mae and max
  int64_t count = 0;  // number of values
  double rmse = 0;    // root of the mean square
  double mae = 0;     // mean absolute value
  double max = 0;     // largest absolute value
  // The structures of the group that have such values, and their atoms (of the species, if that is the group); and
  // those of the whole group.
  int64_t structures = 0, atoms = 0;
  int64_t of_structures = 0, of_atoms = 0;
};

// Computes the errors: over all structures first, then of isolated atoms, then by config_type, composition and species
// by name. Groupings with a single group are left out, since they would repeat "all", and so are quantities without
// values. energy_total, stress_gpa and net_force are computed for all structures only. Isolated atoms (of `isolated`)
// are in their own group and in no other.
std::vector<ErrorRow> ComputeErrors(absl::Span<const StructurePrediction> predictions);

// Returns the row of the quantity over all structures; null if there is none.
const ErrorRow* FindError(absl::Span<const ErrorRow> rows, absl::string_view quantity);

// Returns "3 of 200 structures" where a row has values of a part of its group, and "200 structures" elsewhere.
std::string StructuresOf(const ErrorRow& row);

// Returns a sentence for each of energy, force and stress that has errors over a part of the structures only, since an
// error of few structures looks like one of all.
std::vector<std::string> PartialErrors(absl::Span<const ErrorRow> rows);

// A limit that the user sets on the RMSE of a quantity, in its unit; infinity: none.
struct ErrorLimit {
  std::string flag;      // "--max_force_rmse", for the message
  std::string quantity;  // "force"
  double max_rmse;
};

// Returns FAILED_PRECONDITION if the RMSE over all structures is above a limit, or there is nothing to compare.
absl::Status CheckErrorLimits(absl::Span<const ErrorRow> rows, absl::Span<const ErrorLimit> limits);

// Says how many structures have atoms outside the range of training, with the names of the first ones; "" if none has.
std::string ExtrapolationWarning(absl::Span<const StructurePrediction> predictions);

// Returns |sum of the predicted forces|, eV/Angstrom.
double NetForce(const StructurePrediction& prediction);

// Formats rmse, mae or max with as many digits as suit the quantity.
std::string FormatError(const ErrorRow& row, double value);

// Formats the rows as a tab-separated table with a header.
std::string ErrorsToTsv(absl::Span<const ErrorRow> rows);

}  // namespace rutile

#endif  // RUTILE_LIB_EVALUATION_PREDICTION_ERRORS_H_
