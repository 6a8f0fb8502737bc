// A model's parameters for a graph with other names: where fine-tuning, and training on a graph that has grown, start.

#ifndef RUTILE_LIB_KGE_MODEL_KGE_TRANSFER_H_
#define RUTILE_LIB_KGE_MODEL_KGE_TRANSFER_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/kge/model/kge_file.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

struct KgeTransfer {
  Tensor parameters;                                 // [P] of `shape`, of its precision
  int64_t entities_taken = 0, entities_begun = 0;    // rows of `from`; rows that keep the start's
  int64_t relations_taken = 0, relations_begun = 0;  // inverses count, too
};

// Rows of entities and relations go by their names, an inverse relation by that of its relation; all other parameters
// are those of `from`. Rows that `from` has not are `start`'s (flat, of `shape`), and so are biases. shape, names: of
// the new run. INVALID_ARGUMENT: another model, variant or size, no entity or no relation that both have.
absl::StatusOr<KgeTransfer> TransferKge(const TrainedKge& from, const KgeShape& shape, const KnowledgeGraph& names,
                                        const Tensor& start);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_MODEL_KGE_TRANSFER_H_
