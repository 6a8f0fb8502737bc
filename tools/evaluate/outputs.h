// Writes the files that evaluate of a potential leaves in --output_dir.

#ifndef RUTILE_TOOLS_EVALUATE_OUTPUTS_H_
#define RUTILE_TOOLS_EVALUATE_OUTPUTS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lib/evaluation/prediction_errors.h"
#include "lib/evaluation/structure_prediction.h"
#include "lib/evaluation/training_log.h"
#include "tools/common/run/run_tool.h"
#include "tools/evaluate/models.h"

namespace rutile {

// Writes tables, predictions, pictures and the report into an existing directory. inputs: the files that it was made
// from besides the models.
absl::Status WriteOutputs(const std::string& directory, const ToolRun& run, const Models& models,
                          const std::vector<std::string>& inputs, const std::vector<StructurePrediction>& predictions,
                          const std::vector<ErrorRow>& errors, std::optional<TrainingLog> log);

// True if a flag limits the errors of forces or stresses.
bool LimitsForces();
// Returns the error of CheckErrorLimits by --max_energy_rmse, --max_force_rmse and --max_stress_rmse.
absl::Status CheckLimitFlags(const std::vector<ErrorRow>& errors);

}  // namespace rutile

#endif  // RUTILE_TOOLS_EVALUATE_OUTPUTS_H_
