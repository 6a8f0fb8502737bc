// The predictions that evaluate judges: made now, by the flags that choose structures, or read from files.

#ifndef RUTILE_TOOLS_EVALUATE_PREDICTIONS_H_
#define RUTILE_TOOLS_EVALUATE_PREDICTIONS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/evaluation/structure_prediction.h"
#include "lib/structure/structure.h"
#include "tools/common/run/run_tool.h"
#include "tools/evaluate/models.h"
#include "tools/evaluate/shards.h"

namespace rutile {

// Of this shard, in the order of the inputs; `inputs`: data, or files of predictions that these models made, which are
// merged. on_structure: as in PredictOptions. INVALID_ARGUMENT: flags that contradict each other or have no effect,
// else the errors of PredictInputs and ReadPredictionParts.
absl::StatusOr<std::vector<StructurePrediction>> PredictionsFromFlags(
    const Models& models, absl::Span<const std::string> inputs, const EvaluateShard& shard,
    std::function<absl::Status(const Structure&)> on_structure);

// A part's predictions, into a directory that exists. Says where.
absl::Status WritePredictionsPart(const ToolRun& run, const Models& models, absl::Span<const std::string> inputs,
                                  const EvaluateShard& shard, absl::Span<const StructurePrediction> predictions);

}  // namespace rutile

#endif  // RUTILE_TOOLS_EVALUATE_PREDICTIONS_H_
