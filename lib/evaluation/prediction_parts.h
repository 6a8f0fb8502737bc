// Merges predictions that were made in parts, by processes that each took a share of the structures.

#ifndef RUTILE_LIB_EVALUATION_PREDICTION_PARTS_H_
#define RUTILE_LIB_EVALUATION_PREDICTION_PARTS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/evaluation/structure_prediction.h"

namespace rutile {

// The predictions of all parts.
struct MergedPredictions {
  std::vector<StructurePrediction> predictions;  // in the order of the data
  std::string selection;  // selection of the data, as the parts' metadata say (predictions_file.h)
};

// Reads the parts. paths: files of kind predictions/1, all parts of one set in any order, or one whole file.
// model_files: those of the models that made them. num_models: how many models these are, of which one may have several
// files. INVALID_ARGUMENT: errors of OrderParts, CheckMadeFrom and DecodePredictions; parts whose sizes do not fit
// together.
absl::StatusOr<MergedPredictions> ReadPredictionParts(absl::Span<const std::string> paths,
                                                      absl::Span<const std::string> model_files, size_t num_models);

}  // namespace rutile

#endif  // RUTILE_LIB_EVALUATION_PREDICTION_PARTS_H_
