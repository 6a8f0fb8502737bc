// Transfers a model's parameters to a graph with other names, to start fine-tuning or training on a graph that has
// grown.

#ifndef RUTILE_LIB_KGE_MODEL_KGE_TRANSFER_H_
#define RUTILE_LIB_KGE_MODEL_KGE_TRANSFER_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/kge/model/kge_file.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Transferred parameters, and how many rows came from the old model.
struct KgeTransfer {
  Tensor parameters;                                 // [P] for `shape`, in its precision
  int64_t entities_taken = 0, entities_begun = 0;    // rows copied from `from`, and rows of `start`
  int64_t relations_taken = 0, relations_begun = 0;  // including inverse relations
};

// Returns parameters for a run of `shape` and `names`. Rows of entities are matched by name, those of relations by
// label where both have labels and else by name, an inverse relation as its relation; all other parameters are copied
// from `from`. Rows and biases that `from` does not have are those of `start` (flat, of `shape`). INVALID_ARGUMENT if
// model, variant or size differ, or if no entity or no relation is in both.
absl::StatusOr<KgeTransfer> TransferKge(const TrainedKge& from, const KgeShape& shape, const KnowledgeGraph& names,
                                        const Tensor& start);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_MODEL_KGE_TRANSFER_H_
