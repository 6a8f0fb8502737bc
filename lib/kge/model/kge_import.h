// Imports ConvE models of other projects: state dictionaries of PyTorch, saved as safetensors.
//
//               entities, relations                       layers
//   TiePin      entity_embeddings, relation_embeddings    bn0 conv1 bn1 fc bn2
//   PyKEEN      entity_representations.{0,1}._embeddings, relation_representations.0._embeddings,
//               interaction.hr2d.N (norm, convolution, norm), interaction.hr1d.N (linear, norm)
//
// TiePin's is the variant tiepin. PyKEEN's is dettmers, whose convolution has no bias: the bias that PyKEEN adds
// before a norm is subtracted from the norm's running mean instead, which gives the same function.

#ifndef RUTILE_LIB_KGE_MODEL_KGE_IMPORT_H_
#define RUTILE_LIB_KGE_MODEL_KGE_IMPORT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/kge/model/kge_file.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// An imported model whose rows have no names yet.
struct ForeignKge {
  std::string project;  // "PyKEEN"
  std::string path;
  KgeShape shape;            // dropout and label smoothing are 0: a state dictionary does not contain them
  bool loss_known = false;   // shape.options.loss is that of training, not a guess; set by the caller, or for TiePin
  bool interleaved = false;  // relation 2 r + 1 is the inverse of 2 r, as PyKEEN numbers them
  Tensor parameters;         // flat [shape.offsets().size], in the file's order of rows
};

// True if the file is not one of rutile's and has the tensor names of one of these projects.
bool IsForeignKge(const TensorFile& file);

// Reads a model. embedding_height is the height of an embedding's image, which shapes do not always tell; 0 takes the
// only one that fits. INVALID_ARGUMENT naming file and tensor if one is missing, not finite, or of another shape or
// type than F32 or F64; or listing the heights if several fit.
absl::StatusOr<ForeignKge> ReadForeignKge(const TensorFile& file, int64_t embedding_height);

// Gives the model the names of `graph`, whose ids must be those that the model was trained with; only their number can
// be checked. INVALID_ARGUMENT if the numbers differ, or only one of model and graph has inverse relations.
absl::StatusOr<TrainedKge> NameForeignKge(const ForeignKge& foreign, const KnowledgeGraph& graph);

// INVALID_ARGUMENT if the model was imported without the loss that it was trained with, so that the loss in `metadata`
// is a guess. path: of the model; needs: what needs the loss, as "--new_triples".
absl::Status CheckLossIsKnown(const Metadata& metadata, absl::string_view path, absl::string_view needs);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_MODEL_KGE_IMPORT_H_
