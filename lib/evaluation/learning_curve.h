// Draws the learning curve of a run from its log, and adds it to reports.

#ifndef RUTILE_LIB_EVALUATION_LEARNING_CURVE_H_
#define RUTILE_LIB_EVALUATION_LEARNING_CURVE_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/evaluation/training_log.h"
#include "lib/plot/report_pictures.h"

namespace rutile {

// Where in a log a model was kept, and by which value.
struct KeptModel {
  std::string monitor;  // column of the value that chose it, "val_mrr"; "": the validation, else training loss
  bool higher_is_better = false;  // of that value
  std::string shown;              // column to draw above the losses; "": the monitor, unless it is a loss
  bool shown_rises = false;       // higher is better, of `shown`
  std::optional<double> epoch;    // nullopt: that of the best value
  std::optional<double> step;     // decides where it is known, as an epoch may have several rows
  std::string doubt;              // why the log may not be the model's, for people; "": no reason
};

// True if there is anything to draw: a training or validation loss that is a number.
bool HasLearningCurve(const TrainingLog& log);

// Returns the row in which the model was kept; nullopt if the log has no such row, or no number there.
std::optional<size_t> KeptRow(const TrainingLog& log, const KeptModel& kept);

// Returns the column that has this value in the row, to the six digits that a model file records of it: the name
// without its unit, of several the first of val_loss, other columns of validation, and train_loss. "" if none has.
std::string ColumnOfValue(const TrainingLog& log, size_t row, double value);

// Returns a column's name for people, with its unit: "Validation MRR", "Validation force RMSE (eV/Å)".
std::string ColumnLabel(const TrainingLog& log, absl::string_view column);

// Draws training and validation loss as SVG: over epochs, or over steps if there are several rows in an epoch; above
// them, in a panel of its own, kept.shown or, if that is empty, the value that chose the model unless it is a loss. The
// kept row is marked.
// INVALID_ARGUMENT if there is nothing to draw; other errors are those of LearningCurve (NOT_FOUND: gnuplot is not
// installed).
absl::StatusOr<std::string> DrawLearningCurve(const TrainingLog& log, const KeptModel& kept);

// Adds the section "Training": kept.doubt, what the kept row says, and learning_curve.svg. Nothing, if there is nothing
// to draw. Errors: those of ReportPictures::Add.
absl::Status AddTraining(const TrainingLog& log, const KeptModel& kept, ReportPictures* pictures);

}  // namespace rutile

#endif  // RUTILE_LIB_EVALUATION_LEARNING_CURVE_H_
