#include "tools/train/init_kge.h"

#include <gflags/gflags.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/kge/model/kge_transfer.h"
#include "lib/tensorfile/tensor_file.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/train/files/run_directory.h"
#include "tools/common/run/given_flags.h"
#include "tools/common/run/run_tool.h"
#include "tools/train/flags/kge_flags.h"

DECLARE_string(init_from);

namespace rutile {

absl::StatusOr<std::optional<InitialKge>> InitialKgeFromFlags(const TrainerOptions& options) {
  if (FLAGS_init_from.empty()) return std::nullopt;
  if (options.mode == RunMode::kResume) {
    RETURN_IF_ERROR(
        RefuseFlags("with --resume, which starts from a checkpoint (--resume=auto goes with both)", {"init_from"}));
  }
  ASSIGN_OR_RETURN(const TensorFile look, LookIntoTensorFile(FLAGS_init_from));
  InitialKge initial;
  if (IsForeignKge(look)) {
    ASSIGN_OR_RETURN(const TensorFile file, ReadTensorFile(FLAGS_init_from));
    ASSIGN_OR_RETURN(initial.foreign, ReadForeignKge(file, EmbeddingHeightFromFlags()));
  } else {
    ASSIGN_OR_RETURN(initial.ours, ReadKgeModel(FLAGS_init_from));
  }
  return initial;
}

absl::Status SetInitialKge(const InitialKge& initial, const KgeTask& task, const KnowledgeGraph& graph,
                           TrainerOptions* options) {
  std::optional<TrainedKge> named;
  if (initial.foreign.has_value()) {
    ASSIGN_OR_RETURN(named, NameForeignKge(*initial.foreign, graph));
  }
  const TrainedKge& model = named.has_value() ? *named : *initial.ours;
  absl::StatusOr<KgeTransfer> transfer = TransferKge(model, task.shape(), graph, task.InitialParameters(options->seed));
  if (!transfer.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--init_from=", FLAGS_init_from, ": ", transfer.status().message()));
  }
  PrintMessage(absl::StrCat("a new run starts from ", FLAGS_init_from, ": rows of ", transfer->entities_taken,
                            " entities and ", transfer->relations_taken, " relations; from random numbers: ",
                            transfer->entities_begun, " and ", transfer->relations_begun));
  options->initial_parameters = std::move(transfer->parameters);
  return absl::OkStatus();
}

}  // namespace rutile
