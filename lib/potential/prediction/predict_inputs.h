// Predicts all structures in some files, beside the labels that the files have. Structures are streamed.

#ifndef RUTILE_LIB_POTENTIAL_PREDICTION_PREDICT_INPUTS_H_
#define RUTILE_LIB_POTENTIAL_PREDICTION_PREDICT_INPUTS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/descriptor/descriptor_derivatives.h"
#include "lib/evaluation/structure_prediction.h"
#include "lib/potential/model/potential_file.h"
#include "lib/structure/structure.h"
#include "lib/structure/structure_reader.h"

namespace rutile {

// A structure and what was predicted for it. References and spans end with the call that has it as an argument.
struct PredictedStructure {
  const Structure& structure;
  const StructurePrediction& prediction;
  absl::Span<const uint8_t> outside;  // as in AtomicPrediction
  int64_t number;                     // counted from 0 over all inputs
};

struct PredictOptions {
  StructureReaderOptions reader;
  std::string config_key = "config_type";  // of raw structures, as of PredictionSource::Open
  int num_threads = 1;
  bool forces = true;                          // and stress, in 3-D periodic cells
  std::optional<std::vector<int64_t>> frames;  // if set, predicts these alone, counted from 0 over all inputs
  std::string config_type;                     // glob of the structures to predict; empty for all
  // predicts every num_shards-th of the structures chosen so far, from the shard-th on (1-based)
  int shard = 1, num_shards = 1;
  // called with the number of structures done since the last call; may be empty
  std::function<void(int64_t structures)> on_progress;
  // Adds to what was predicted for a structure; may be empty. Called by one of num_threads threads, number `thread`
  // from 0, in any order. number: counted from 0 over all inputs. Features are then computed from positions.
  std::function<absl::Status(int thread, int64_t number, const StructureGeometry& geometry,
                             StructurePrediction* prediction)>
      on_geometry;
  // Called for each chosen structure in the order of the inputs, from one thread; may be empty.
  std::function<absl::Status(const Structure& structure)> on_structure;
  // Called after it with what was predicted; may be empty.
  std::function<absl::Status(const PredictedStructure& predicted)> on_prediction;
};

// Returns predictions by one model, or by a committee with one descriptor (CheckCommittee), in the order of the inputs.
// Inputs are files of kind atomistic.features/1 or atomistic.neighbors/1, or structures ("-" for standard input). If
// features and neighbors are given together, they must be of the same structures, which are predicted once
// (InputsOnce). Without forces or a repulsion, the features in a file are used as they are. Otherwise they are computed
// from positions, after finding neighbors if the file has none. The result does not depend on num_threads.
// INVALID_ARGUMENT: errors of PredictionSource::Open, an element that the model does not know, atoms on top of each
// other, a frame beyond the end, no structure selected, fewer selected structures than shards.
absl::StatusOr<std::vector<StructurePrediction>> PredictInputs(absl::Span<const Potential> models,
                                                               absl::Span<const std::string> inputs,
                                                               const PredictOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_PREDICTION_PREDICT_INPUTS_H_
