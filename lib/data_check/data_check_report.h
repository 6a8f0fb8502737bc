// Writes what a data check found: tables for people and spreadsheets, and an HTML page.

#ifndef RUTILE_LIB_DATA_CHECK_DATA_CHECK_REPORT_H_
#define RUTILE_LIB_DATA_CHECK_DATA_CHECK_REPORT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/data_check/data_check.h"

namespace rutile {

// Returns a table with a row for each finding: check, number of structures (0: all of them together), found, remedy.
std::string FindingsToTsv(const DataCheckResult& result);

// Returns a table with a row for each structure: name, atoms, composition, energy in eV, the residual of the fit to
// compositions in eV per atom, the largest component of force and stress, the nearest distance in Angstrom and as a
// share of covalent radii, and the checks whose findings name it. Missing values are empty.
std::string FramesToTsv(const DataCheckResult& result);

// Writes data_check.tsv (FramesToTsv), data_check.html and, if there are energies, energy_by_composition.svg into
// `directory`, which must exist. command: shown on the page. NOT_FOUND if gnuplot is not installed and there are
// energies to draw.
absl::Status WriteDataCheckReport(absl::string_view directory, absl::string_view command,
                                  const DataCheckResult& result);

}  // namespace rutile

#endif  // RUTILE_LIB_DATA_CHECK_DATA_CHECK_REPORT_H_
