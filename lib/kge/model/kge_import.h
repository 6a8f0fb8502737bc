// ConvE as other projects keep it: a state dictionary of PyTorch, saved as safetensors.
//
//               entities, relations                       layers
//   TiePin      entity_embeddings, relation_embeddings    bn0 conv1 bn1 fc bn2
//   PyKEEN      entity_representations.{0,1}._embeddings, relation_representations.0._embeddings,
//               interaction.hr2d.N (norm, convolution, norm), interaction.hr1d.N (linear, norm)
//
// TiePin's is the variant tiepin; PyKEEN's is dettmers, whose convolution has no bias: what a bias adds before a norm
// is taken off the norm's running mean, which is the same function.

#ifndef RUTILE_LIB_KGE_MODEL_KGE_IMPORT_H_
#define RUTILE_LIB_KGE_MODEL_KGE_IMPORT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/kge/model/kge_file.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// A model whose rows have no names yet.
struct ForeignKge {
  std::string project;  // "PyKEEN"
  std::string path;
  KgeShape shape;            // without dropout and label smoothing: a state dictionary does not tell them
  bool interleaved = false;  // relation 2 r + 1 is the inverse of 2 r, as PyKEEN numbers them
  Tensor parameters;         // flat [shape.offsets().size], in the file's order of rows
};

// Whether the file is no file of ours and has the names of one of the projects.
bool IsForeignKge(const TensorFile& file);

// embedding_height: of the image, which the shapes do not always tell; 0: the only one that fits. INVALID_ARGUMENT
// naming file and tensor: one is missing, of another shape or type than F32 or F64, not finite; several heights fit,
// which are listed.
absl::StatusOr<ForeignKge> ReadForeignKge(const TensorFile& file, int64_t embedding_height);

// The model with the names of `graph`, whose ids must be those that the model was trained with: that they are as many
// is all that can be checked. INVALID_ARGUMENT: they are not, or the model has inverse relations and the graph has not,
// or the other way round.
absl::StatusOr<TrainedKge> NameForeignKge(const ForeignKge& foreign, const KnowledgeGraph& graph);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_MODEL_KGE_IMPORT_H_
