#include "tools/train/init_flags.h"

#include <gflags/gflags.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/file/sha256.h"
#include "lib/network/network_shape.h"
#include "lib/potential/model/mace_potential.h"
#include "lib/potential/model/open_potentials.h"
#include "lib/potential/model/transfer.h"
#include "lib/potential/model/zbl_options.h"
#include "lib/train/files/run_directory.h"
#include "tools/common/run/given_flags.h"
#include "tools/common/run/run_tool.h"

DEFINE_string(
    init_from, "",
    "Model from which a new run starts, as best.safetensors of another, or aenet's networks of all its species, as "
    "Ti.nn,O.nn. Its networks take the place of random numbers, for fine-tuning. The flag is refused with --resume; "
    "with --resume=auto it counts when a new run starts.");

namespace rutile {
namespace {

// Returns the files that --init_from names: one, or those of aenet separated by commas.
std::vector<std::string> InitialFiles() {
  if (FileExists(FLAGS_init_from)) return {FLAGS_init_from};
  return absl::StrSplit(FLAGS_init_from, ',', absl::SkipEmpty());
}

}  // namespace

absl::StatusOr<std::optional<Potential>> InitialModelFromFlags(const TrainerOptions& options,
                                                               AtomisticTaskOptions* task) {
  if (FLAGS_init_from.empty()) return std::nullopt;
  if (options.mode == RunMode::kResume) {
    RETURN_IF_ERROR(
        RefuseFlags("with --resume, which starts from a checkpoint (--resume=auto goes with both)", {"init_from"}));
  }
  ASSIGN_OR_RETURN(OpenedPotentials opened, OpenPotentials(InitialFiles()));
  if (opened.potentials.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("--init_from=", FLAGS_init_from, ": expected one model, found ", opened.potentials.size()));
  }
  Potential model = std::move(opened.potentials[0]);
  RETURN_IF_ERROR(RefuseMace(model, FLAGS_init_from, "--init_from"));
  const NetworkShape& shape = model.shape;
  if ((FlagGiven("hidden") && task->hidden != shape.hidden) ||
      (FlagGiven("activation") && task->activation != shape.activation)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--init_from=", FLAGS_init_from, ": its networks are --hidden=", absl::StrJoin(shape.hidden, ","),
        " --activation=", kActivationNames.Name(shape.activation), ": give these, or leave both flags out"));
  }
  if (shape.has_moments()) {
    if (FlagGiven("channels") && task->channels != shape.moments.channels) {
      return absl::InvalidArgumentError(absl::StrCat("--init_from=", FLAGS_init_from, ": it has --channels=",
                                                     shape.moments.channels, ": give that, or leave the flag out"));
    }
    task->channels = shape.moments.channels;
    if (FlagGiven("messages") && task->messages != shape.moments.messages) {
      return absl::InvalidArgumentError(absl::StrCat("--init_from=", FLAGS_init_from, ": it has --messages=",
                                                     shape.moments.messages, ": give that, or leave the flag out"));
    }
    task->messages = shape.moments.messages;
    if (FlagGiven("vector_messages") && task->vector_messages != shape.moments.vector_messages) {
      return absl::InvalidArgumentError(absl::StrCat("--init_from=", FLAGS_init_from,
                                                     ": it has --vector_messages=", shape.moments.vector_messages,
                                                     ": give that, or leave the flag out"));
    }
    task->vector_messages = shape.moments.vector_messages;
  }
  absl::StatusOr<ZblOptions> zbl = ZblOfRadii(model.repulsion, model.descriptor);
  if (!zbl.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--init_from=", FLAGS_init_from, ": ", zbl.status().message()));
  }
  if (FlagGiven("zbl")) {
    const absl::StatusOr<RepulsionRadii> given = RadiiOf(task->zbl, model.descriptor);
    if (given.ok() && *given == model.repulsion) zbl = task->zbl;
  }
  if (FlagGiven("zbl") && ZblText(task->zbl) != ZblText(*zbl)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--init_from=", FLAGS_init_from, ": ",
        zbl->is_on() ? absl::StrCat("its networks learned what --zbl=", ZblText(*zbl), " leaves: give that, or leave ")
                     : "it has no repulsion, so its networks learned whole labels: leave ",
        "--zbl out"));
  }
  task->zbl = *zbl;
  task->hidden = shape.hidden;
  task->activation = shape.activation;
  return model;
}

absl::Status DescribeInitialModel(Metadata* metadata) {
  if (FLAGS_init_from.empty()) return absl::OkStatus();
  std::vector<std::string> hashes;
  for (const std::string& path : InitialFiles()) {
    // A pipe has been read, and what was in it has no name to find it by.
    const absl::StatusOr<std::string> hash = Sha256HexOfFile(path);
    hashes.push_back(hash.ok() ? *hash : "unknown");
  }
  (*metadata)["init_from"] = absl::StrCat(FLAGS_init_from, " ", absl::StrJoin(hashes, ","));
  return absl::OkStatus();
}

absl::Status SetInitialParameters(const Potential& model, const TrainingTask& task, TrainerOptions* options) {
  const Potential start = task.model->WithParameters(task.task->InitialParameters(options->seed));
  absl::StatusOr<Transfer> transfer = TransferParameters(model, start);
  if (!transfer.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--init_from=", FLAGS_init_from, ": ", transfer.status().message()));
  }
  PrintMessage(
      absl::StrCat("a new run starts from ", FLAGS_init_from, ": networks of ", absl::StrJoin(transfer->taken, ", "),
                   transfer->begun.empty() ? "" : "; from random numbers: ", absl::StrJoin(transfer->begun, ", ")));
  for (const std::string& message : transfer->messages) PrintWarning(message);
  options->initial_parameters = std::move(transfer->parameters);
  return absl::OkStatus();
}

}  // namespace rutile
