// Files of kind predictions/1: what a model says of a set of structures.

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

// Tensors of forces and stress are there when some structure has predicted ones, spreads when some has them.
absl::Status WritePredictions(absl::string_view path, absl::Span<const StructurePrediction> predictions,
                              const Metadata& provenance);

// What WritePredictions wrote: the same structures to the bit, but for names that were not UTF-8. What is NaN
// throughout was not there; forces are predicted for all structures or for none. INVALID_ARGUMENT naming file, tensor
// and rule.
absl::StatusOr<std::vector<StructurePrediction>> DecodePredictions(const TensorFile& file);

}  // namespace rutile

#endif  // RUTILE_LIB_EVALUATION_PREDICTIONS_FILE_H_
