// Provides the predictions to evaluate: computed now for the structures that flags select, or read from files.

#ifndef RUTILE_TOOLS_EVALUATE_PREDICTIONS_H_
#define RUTILE_TOOLS_EVALUATE_PREDICTIONS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/descriptor/descriptor_derivatives.h"
#include "lib/evaluation/structure_prediction.h"
#include "lib/potential/prediction/predict_inputs.h"
#include "lib/structure/structure.h"
#include "tools/common/run/run_tool.h"
#include "tools/evaluate/models.h"
#include "tools/evaluate/shards.h"

namespace rutile {

// What is called while structures are predicted, as in PredictOptions; each may be empty.
struct PredictionHooks {
  std::function<absl::Status(const Structure&)> on_structure;
  std::function<absl::Status(const PredictedStructure&)> on_prediction;
  std::function<absl::Status(int, int64_t, const StructureGeometry&, StructurePrediction*)> on_geometry;
};

// Returns the predictions of this shard in the order of the inputs. inputs: data, or files of predictions by these
// models, which are merged. Isolated atoms stay `isolated` beside larger structures unless all models learned them, and
// a message says so; a shard, which does not see all structures, leaves that to the merge. INVALID_ARGUMENT: flags that
// contradict each other or have no effect; otherwise the errors of PredictInputs and ReadPredictionParts.
absl::StatusOr<std::vector<StructurePrediction>> PredictionsFromFlags(const Models& models,
                                                                      absl::Span<const std::string> inputs,
                                                                      const EvaluateShard& shard,
                                                                      PredictionHooks hooks);

// Writes the predictions of a part into an existing directory, and prints where. files: those that it was made from
// besides the models.
absl::Status WritePredictionsPart(const ToolRun& run, const Models& models, absl::Span<const std::string> files,
                                  const EvaluateShard& shard, absl::Span<const StructurePrediction> predictions);

}  // namespace rutile

#endif  // RUTILE_TOOLS_EVALUATE_PREDICTIONS_H_
