// Draws the learning curve of a run from its log.

#ifndef RUTILE_LIB_EVALUATION_LEARNING_CURVE_H_
#define RUTILE_LIB_EVALUATION_LEARNING_CURVE_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "lib/evaluation/training_log.h"

namespace rutile {

// True if there is anything to draw: a training or validation loss that is a number.
bool HasLearningCurve(const TrainingLog& log);

// Draws training and validation loss as SVG: over epochs, or over steps if there are several rows in an epoch.
// best_epoch is marked, or without it the row of the lowest validation (else training) loss. INVALID_ARGUMENT if there
// is nothing to draw; other errors are those of LearningCurve (NOT_FOUND: gnuplot is not installed).
absl::StatusOr<std::string> DrawLearningCurve(const TrainingLog& log, std::optional<double> best_epoch);

}  // namespace rutile

#endif  // RUTILE_LIB_EVALUATION_LEARNING_CURVE_H_
