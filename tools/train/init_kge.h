// Starting embeddings from a model: --init_from on triples.

#ifndef RUTILE_TOOLS_TRAIN_INIT_KGE_H_
#define RUTILE_TOOLS_TRAIN_INIT_KGE_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/kge/model/kge_file.h"
#include "lib/kge/model/kge_import.h"
#include "lib/kge/model/kge_options.h"
#include "lib/kge/training/kge_task.h"
#include "lib/train/options/trainer_options.h"

namespace rutile {

// The model of --init_from: one of ours, or another project's, which has no names yet.
struct InitialKge {
  std::optional<TrainedKge> ours;
  std::optional<ForeignKge> foreign;
  const KgeOptions& options() const { return ours.has_value() ? ours->shape.options : foreign->shape.options; }
};

// Nothing without the flag. INVALID_ARGUMENT: a run that is resumed in any case, and the errors of ReadKgeModel and
// ReadForeignKge.
absl::StatusOr<std::optional<InitialKge>> InitialKgeFromFlags(const TrainerOptions& options);

// Sets options->initial_parameters and says what was taken. INVALID_ARGUMENT naming the file when it does not fit.
absl::Status SetInitialKge(const InitialKge& initial, const KgeTask& task, const KnowledgeGraph& graph,
                           TrainerOptions* options);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_INIT_KGE_H_
