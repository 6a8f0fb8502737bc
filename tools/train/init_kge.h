// Starts embeddings of a knowledge graph from an existing model (--init_from).

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

// The model of --init_from: one of ours, or one of another project, which has no names.
struct InitialKge {
  std::optional<TrainedKge> ours;
  std::optional<ForeignKge> foreign;
  const KgeOptions& options() const { return ours.has_value() ? ours->shape.options : foreign->shape.options; }
};

// Reads the model of --init_from; nullopt without the flag. INVALID_ARGUMENT: a run that is certain to be resumed, and
// the errors of ReadKgeModel and ReadForeignKge.
absl::StatusOr<std::optional<InitialKge>> InitialKgeFromFlags(const TrainerOptions& options);

// Sets options->initial_parameters, and prints what was taken from the model. INVALID_ARGUMENT naming the file if it
// does not fit.
absl::Status SetInitialKge(const InitialKge& initial, const KgeTask& task, const KnowledgeGraph& graph,
                           TrainerOptions* options);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_INIT_KGE_H_
