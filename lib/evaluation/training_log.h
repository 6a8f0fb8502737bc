// Reads the learning curves in a training log (log.tsv or log.jsonl of a run).

#ifndef RUTILE_LIB_EVALUATION_TRAINING_LOG_H_
#define RUTILE_LIB_EVALUATION_TRAINING_LOG_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rutile {

// A table of numbers; what is missing is NaN.
struct TrainingLog {
  std::vector<std::string> columns;         // "epoch", "train_loss[eV/atom]", ...
  std::vector<std::vector<double>> values;  // [columns][rows]

  // Returns the column of that name, with or without its unit in brackets; nullptr if there is none.
  const std::vector<double>* Find(absl::string_view name) const;
  // Returns the unit in brackets; "" if there is none.
  std::string Unit(absl::string_view name) const;
};

// Reads a log: a tab-separated table with a header row, or JSON lines, of which each is a row with the names of the
// first, as their first character tells. Cells that are empty, "nan" or null are NaN. JSON lines have their units in a
// first line, {"units":{"val_loss":"eV/atom"}}, as older versions wrote it, or else in "log_units" of config.json in
// the directory of the log; without either they have none. NOT_FOUND, or INVALID_ARGUMENT naming path and line: neither
// of these, a row with other columns, not a number.
absl::StatusOr<TrainingLog> ReadTrainingLog(absl::string_view path);

}  // namespace rutile

#endif  // RUTILE_LIB_EVALUATION_TRAINING_LOG_H_
