// --train_log: the log of the run that made a model, for the learning curve in its report.

#ifndef RUTILE_TOOLS_EVALUATE_TRAIN_LOG_H_
#define RUTILE_TOOLS_EVALUATE_TRAIN_LOG_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/evaluation/learning_curve.h"
#include "lib/evaluation/training_log.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// INVALID_ARGUMENT for --train_log without --output_dir, where nothing would show it.
absl::Status CheckTrainLog();

// Reads the log; nullopt without the flag. Errors: those of ReadTrainingLog; INVALID_ARGUMENT for a log with no loss to
// draw, as that of steps.
absl::StatusOr<std::optional<TrainingLog>> TrainLogFromFlag();

// Returns where the log has a model of these metadata (epoch, step, and loss: the value that chose it), and which
// column has that value; what the metadata or the log lack stays unknown. Warns, and says so in `doubt`, if the log has
// no such row or value: it is of another run. A model that was saved within an epoch has no row; that is said in the
// same places, without a warning. path: of the model, for the warning.
KeptModel KeptModelOf(const TrainingLog& log, const Metadata& metadata, absl::string_view path);

}  // namespace rutile

#endif  // RUTILE_TOOLS_EVALUATE_TRAIN_LOG_H_
