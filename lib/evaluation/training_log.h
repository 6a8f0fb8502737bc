// Reads the learning curves in a training log (log.tsv of a run).

#ifndef RUTILE_LIB_EVALUATION_TRAINING_LOG_H_
#define RUTILE_LIB_EVALUATION_TRAINING_LOG_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rutile {

// A tab-separated table of numbers with a header row; cells that are empty or "nan" are NaN.
struct TrainingLog {
  std::vector<std::string> columns;         // "epoch", "train_loss[eV/atom]", ...
  std::vector<std::vector<double>> values;  // [columns][rows]

  // Returns the column of that name, with or without its unit in brackets; nullptr if there is none.
  const std::vector<double>* Find(absl::string_view name) const;
  // Returns the unit in brackets; "" if there is none.
  std::string Unit(absl::string_view name) const;
};

// Reads a log. NOT_FOUND, or INVALID_ARGUMENT naming path and line: not a table, a row of another length, not a number.
absl::StatusOr<TrainingLog> ReadTrainingLog(absl::string_view path);

}  // namespace rutile

#endif  // RUTILE_LIB_EVALUATION_TRAINING_LOG_H_
