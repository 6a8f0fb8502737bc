// Writes the report of evaluate: an HTML page and its pictures.

#ifndef RUTILE_LIB_EVALUATION_EVALUATION_REPORT_H_
#define RUTILE_LIB_EVALUATION_EVALUATION_REPORT_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/evaluation/learning_curve.h"
#include "lib/evaluation/prediction_errors.h"
#include "lib/evaluation/structure_prediction.h"
#include "lib/evaluation/training_log.h"

namespace rutile {

// What the report shows.
struct EvaluationReport {
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts;  // about the model: name, value with its unit
  absl::Span<const StructurePrediction> predictions;       // not owned
  std::vector<ErrorRow> errors;
  std::optional<TrainingLog> log;     // if set, the report has the learning curve
  KeptModel kept;                     // marked in the learning curve
  std::vector<std::string> commands;  // as they can be pasted
};

// Writes report.html into `directory`, which must exist, and beside it the pictures that there is data for:
// parity_energy.svg and error_histogram.svg, parity_force.svg and force_histogram.svg, parity_stress.svg,
// calibration_energy.svg, calibration_force.svg, learning_curve.svg. The page's size does not grow with the number of
// atoms: pictures draw a sample of the points and say so. Returns a warning, "" if there is none: where a picture
// cannot be drawn (gnuplot is not installed or fails, or no value is finite), the page says why in its place. Errors:
// those of writing files.
absl::StatusOr<std::string> WriteEvaluationReport(absl::string_view directory, const EvaluationReport& report);

}  // namespace rutile

#endif  // RUTILE_LIB_EVALUATION_EVALUATION_REPORT_H_
