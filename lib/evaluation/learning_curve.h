// The learning curve of a run, from its log.

#ifndef RUTILE_LIB_EVALUATION_LEARNING_CURVE_H_
#define RUTILE_LIB_EVALUATION_LEARNING_CURVE_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "lib/evaluation/training_log.h"

namespace rutile {

// Whether there is anything to draw: a loss of training or validation that is a number.
bool HasLearningCurve(const TrainingLog& log);

// Training and validation loss as an SVG file: over epochs, or over steps where there are several rows in an epoch.
// best_epoch is marked; without it, the row of the lowest validation (else training) loss. INVALID_ARGUMENT: nothing to
// draw; else those of LearningCurve (NOT_FOUND: gnuplot is not installed).
absl::StatusOr<std::string> DrawLearningCurve(const TrainingLog& log, std::optional<double> best_epoch);

}  // namespace rutile

#endif  // RUTILE_LIB_EVALUATION_LEARNING_CURVE_H_
