// Reads and writes files of kind predictions/1, a model's predictions for a set of structures.

#ifndef RUTILE_LIB_EVALUATION_PREDICTIONS_FILE_H_
#define RUTILE_LIB_EVALUATION_PREDICTIONS_FILE_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/evaluation/structure_prediction.h"
#include "lib/tensorfile/schema.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

const Schema& PredictionsSchema();

// Writes the predictions. Tensors of forces and stress are written if any structure has predicted ones, and spreads if
// any has them.
absl::Status WritePredictions(absl::string_view path, absl::Span<const StructurePrediction> predictions,
                              const Metadata& provenance);

// Restores what WritePredictions wrote, to the bit except for names that were not UTF-8. Values that are all NaN are
// restored as missing; forces are predicted for all structures or for none. INVALID_ARGUMENT naming file, tensor and
// rule.
absl::StatusOr<std::vector<StructurePrediction>> DecodePredictions(const TensorFile& file);

}  // namespace rutile

#endif  // RUTILE_LIB_EVALUATION_PREDICTIONS_FILE_H_
