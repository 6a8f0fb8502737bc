// Files of kind kge/1: a trained embedding model with its vocabularies. Ranking and predicting need nothing else.

#ifndef RUTILE_LIB_KGE_MODEL_KGE_FILE_H_
#define RUTILE_LIB_KGE_MODEL_KGE_FILE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/schema.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// The content of a model file.
struct TrainedKge {
  KgeShape shape;        // options.precision is the parameters' type; seed is not stored
  KnowledgeGraph names;  // vocabularies, labels, types, inverse_relations; no triples
  Tensor parameters;     // flat [shape.offsets().size], F32 or F64, in the order of KgeShape
  Metadata metadata;     // the file's: provenance, epoch, validation loss
  // The tensors whose names begin with "calibration." (lib/calibration), with metadata that begin so; empty: none.
  NamedTensors calibration;
};

inline constexpr absl::string_view kCalibrationPrefix = "calibration";

const Schema& KgeSchema();

// Returns the hash of entity and relation names, in the order of their ids, and of inverse_relations. A model and data
// fit together if their hashes are equal.
std::string VocabularySha256(const KnowledgeGraph& graph);

// Writes the file atomically; model.metadata is added to the file's own keys. CHECK-fails if sizes disagree.
// INVALID_ARGUMENT for names that WriteTriples would refuse.
absl::Status WriteKgeModel(absl::string_view path, const TrainedKge& model);

// Reads a model. NOT_FOUND, or INVALID_ARGUMENT naming file, tensor and the rule that it breaks.
absl::StatusOr<TrainedKge> ReadKgeModel(absl::string_view path);

// Returns INVALID_ARGUMENT if the model's names or their order are not the graph's, saying for entities or relations
// which is the first that differs. Labels of relations are compared where both have them: relations of KGX edges are
// called predicate:0 ... by their appearance in a file, so that the name of one is another's in the next file.
absl::Status CheckSameVocabulary(const TrainedKge& model, const KnowledgeGraph& graph);

// Returns the hashes of the splits by name (TripleSetSha256), for the metadata of a model that learns from the graph.
Metadata DescribeSplits(const KnowledgeGraph& graph);

// Returns what a reader of metrics on `split` (train, valid or test) of the graph must know: that the model learned
// from another set of training triples, or from this split, or was chosen by it. Empty for a model that records no
// hashes.
std::vector<std::string> SplitWarnings(const Metadata& model, const KnowledgeGraph& graph, absl::string_view split);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_MODEL_KGE_FILE_H_
