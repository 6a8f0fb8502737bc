// Predictions as tables for people and spreadsheets: tab-separated, units in the header, "nan" for missing values.

#ifndef RUTILE_LIB_EVALUATION_PREDICTION_TABLES_H_
#define RUTILE_LIB_EVALUATION_PREDICTION_TABLES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/evaluation/structure_prediction.h"

namespace rutile {

// Returns a table with a row for each structure: energies, error and spread, error of forces (RMSE by component,
// largest vector), net force, largest spread of a force, error of stress (RMSE over 9 components), atoms outside the
// training range.
std::string PredictionsToTsv(absl::Span<const StructurePrediction> predictions);

// Writes a table with a row for each atom of the structures that have predicted forces: structure (from 0), atom (from
// 1), forces, length of the error vector, spread, energy. The file is written atomically, and never is in memory as a
// whole.
absl::Status WriteForcesTsv(absl::string_view path, absl::Span<const StructurePrediction> predictions);

}  // namespace rutile

#endif  // RUTILE_LIB_EVALUATION_PREDICTION_TABLES_H_
