// What models say of everything in some files, beside what the files say: structures stream through.

#ifndef RUTILE_LIB_POTENTIAL_PREDICTION_PREDICT_INPUTS_H_
#define RUTILE_LIB_POTENTIAL_PREDICTION_PREDICT_INPUTS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/evaluation/structure_prediction.h"
#include "lib/potential/model/potential_file.h"
#include "lib/structure/structure.h"
#include "lib/structure/structure_reader.h"

namespace rutile {

struct PredictOptions {
  StructureReaderOptions reader;
  int num_threads = 1;
  bool forces = true;                          // and stress, where the cell is periodic
  std::optional<std::vector<int64_t>> frames;  // only these, counted from 0 over all inputs
  std::string config_type;                     // glob: only these; empty: all
  int shard = 1, num_shards = 1;               // every num_shards-th of what is chosen so, from the shard-th on
  std::function<void(int64_t structures)> on_progress;  // so many more are done; may be empty
  // Called for each chosen structure in the order of the inputs, from one thread; may be empty.
  std::function<absl::Status(const Structure& structure)> on_structure;
};

// One model, or a committee with one descriptor (CheckCommittee). In the order of the inputs: files of kind
// atomistic.features/1 or atomistic.neighbors/1, or structures ("-" too). Features and neighbors together are of the
// same structures, which come once (InputsOnce). Without forces, the features in a file are used as they are; else they
// are computed from its positions, whose neighbors are found where the file has none. The result does not depend on
// num_threads. INVALID_ARGUMENT: errors of PredictionSource::Open, an element that the model does not know, atoms on
// top of each other, a frame beyond the end, nothing selected, fewer of
// it than shards.
absl::StatusOr<std::vector<StructurePrediction>> PredictInputs(absl::Span<const Potential> models,
                                                               absl::Span<const std::string> inputs,
                                                               const PredictOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_PREDICTION_PREDICT_INPUTS_H_
