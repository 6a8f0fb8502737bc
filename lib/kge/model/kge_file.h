// Files of kind kge/1: a trained embedding model with its vocabularies. Ranking and predicting need nothing else.

#ifndef RUTILE_LIB_KGE_MODEL_KGE_FILE_H_
#define RUTILE_LIB_KGE_MODEL_KGE_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/schema.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

struct TrainedKge {
  KgeShape shape;        // its options' precision is the parameters' type; seed is not kept
  KnowledgeGraph names;  // vocabularies, labels, inverse_relations; no triples
  Tensor parameters;     // flat [shape.offsets().size], F32 or F64, in the order of KgeShape
  Metadata metadata;     // of the file: provenance, epoch, validation loss
};

const Schema& KgeSchema();

// Of the names of entities and relations in the order of their ids, and of inverse_relations: models and data fit
// together when they agree.
std::string VocabularySha256(const KnowledgeGraph& graph);

// Atomic; model.metadata joins the file's own keys. CHECK-fails when sizes disagree; INVALID_ARGUMENT for names that
// WriteTriples would refuse.
absl::Status WriteKgeModel(absl::string_view path, const TrainedKge& model);

// NOT_FOUND, or INVALID_ARGUMENT naming file, tensor and rule.
absl::StatusOr<TrainedKge> ReadKgeModel(absl::string_view path);

// INVALID_ARGUMENT when the model has other names than the graph, or another order: says of which the first differs.
absl::Status CheckSameVocabulary(const TrainedKge& model, const KnowledgeGraph& graph);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_MODEL_KGE_FILE_H_
