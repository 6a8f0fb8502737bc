// --subset: training on a part of the training examples that a plan of tracin has drawn, all else being as with all.

#ifndef RUTILE_TOOLS_TRAIN_DATA_TRAINING_SUBSET_H_
#define RUTILE_TOOLS_TRAIN_DATA_TRAINING_SUBSET_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/influence/files/subsets_file.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/tensorfile/tensor_file.h"
#include "lib/train/options/trainer_options.h"

namespace rutile {

struct TrainingSubset {
  SubsetPlan plan;
  int64_t number = 0;
  std::string flag;    // "--subset=subsets.safetensors:17", for messages
  std::string sha256;  // SubsetsSha256 of the plan

  // What a model says of itself (subsets_file.h); seed: of its training.
  void Describe(int64_t seed, Metadata* metadata) const;
};

// Reads the plan that --subset names, and joins it to the settings that a resumed run must share. INVALID_ARGUMENT: no
// such subset; a flag that needs all examples, or would draw the sets anew.
absl::StatusOr<std::optional<TrainingSubset>> SubsetFromFlags(TrainerOptions* options);

// Returns [structures of the data]: 1 for those of `train` that the subset leaves out. INVALID_ARGUMENT if the plan's
// structures are not those of `train`, by their content.
absl::StatusOr<std::vector<uint8_t>> LeftOutStructures(const TrainingSubset& subset, const AtomicData& data,
                                                       absl::Span<const int64_t> train);

// Returns [training triples]: 1 for those that the subset keeps. INVALID_ARGUMENT if the plan's triples are not those
// of the graph, by their names.
absl::StatusOr<std::vector<uint8_t>> KeptTriples(const TrainingSubset& subset, const KnowledgeGraph& graph);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_DATA_TRAINING_SUBSET_H_
