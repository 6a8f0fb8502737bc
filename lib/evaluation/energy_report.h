// The pictures and the page that evaluate leaves behind.

#ifndef RUTILE_LIB_EVALUATION_ENERGY_REPORT_H_
#define RUTILE_LIB_EVALUATION_ENERGY_REPORT_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/evaluation/energy_errors.h"
#include "lib/evaluation/training_log.h"

namespace rutile {

struct EnergyReport {
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts;  // about the model: name, value with its unit
  std::vector<EnergyPrediction> predictions;
  std::vector<EnergyErrors> errors;
  std::optional<TrainingLog> log;     // adds the learning curve
  std::optional<double> best_epoch;   // marked in it
  std::vector<std::string> commands;  // as they can be pasted
};

// Writes report.html, parity_energy.svg, error_histogram.svg and, with a log, learning_curve.svg into `directory`,
// which exists. Without any reference energy there is nothing to plot: only report.html. NOT_FOUND: gnuplot is not
// installed.
absl::Status WriteEnergyReport(absl::string_view directory, const EnergyReport& report);

}  // namespace rutile

#endif  // RUTILE_LIB_EVALUATION_ENERGY_REPORT_H_
