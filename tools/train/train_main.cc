// The train tool: fits a model to data. The kind of the data selects the kind of model.

#include <gflags/gflags.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/file/input_files.h"
#include "tools/common/flags/distinct_inputs.h"
#include "tools/common/flags/text_triples.h"
#include "tools/common/run/run_tool.h"
#include "tools/train/data/features.h"
#include "tools/train/flags/flags_of_other_programs.h"
#include "tools/train/flags/operator_flags.h"
#include "tools/train/libtorch.h"
#include "tools/train/run_member.h"
#include "tools/train/train_kge.h"
#include "tools/train/train_potential.h"

DECLARE_string(override);

namespace rutile {
namespace {

// What most runs are told, in the order of help's groups.
constexpr const char* kEssentialFlags[] = {
    "validation_fraction", "test_fraction", "species",    "potential",     "rad_cutoff",   "rad_order",
    "ang_cutoff",          "ang_order",     "hidden",     "activation",    "kge_model",    "embedding_dim",
    "force_weight",        "batch_size",    "seed",       "learning_rate", "lr_scheduler", "ema",
    "max_epochs",          "patience",      "output_dir", "resume",        "precision",    "threads",
};

// Names an empty standard input as such: the command before the pipe has failed, and what follows from no data would
// mislead.
absl::Status CheckStandardInput(const std::vector<std::string>& inputs) {
  if (std::find(inputs.begin(), inputs.end(), "-") == inputs.end()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const FileContents contents, FileContents::Open("-"));
  if (contents.data().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(contents.path(),
                     ": is empty, expected structures, features, neighbors or triples; see what the command before the "
                     "pipe says"));
  }
  UnreadStandardInput(contents);
  return absl::OkStatus();
}

// Completes the advice to give --override: a flag that is given twice has its last value, so what is given belongs to
// it.
absl::Status WithGivenOverrides(const absl::Status& status) {
  constexpr absl::string_view kAdvice = "give the same, or --override=";
  const absl::string_view message = status.message();
  const size_t found = message.find(kAdvice);
  if (FLAGS_override.empty() || found == absl::string_view::npos) return status;
  const size_t end = found + kAdvice.size();
  return absl::Status(status.code(), absl::StrCat(message.substr(0, end), FLAGS_override, ",", message.substr(end)));
}

absl::Status RunTrain(const ToolRun& run) {
  StartMessagesFromFlags();
  if (run.args.empty()) {
    return absl::InvalidArgumentError("needs structures, features, neighbors or triples to train on; see train --help");
  }
  RETURN_IF_ERROR(ContinueWithLibTorch(run));  // before inputs are named on standard input
  RETURN_IF_ERROR(StartOperatorsFromFlags());
  ASSIGN_OR_RETURN(const std::vector<std::string> inputs, ExpandInputs(run.args));
  RETURN_IF_ERROR(CheckDistinctFiles(inputs));
  RETURN_IF_ERROR(CheckStandardInput(inputs));
  if (HoldsTriples(inputs)) return WithGivenOverrides(TrainKge(run, inputs));
  RETURN_IF_ERROR(RefuseTextTriples(inputs[0]));
  return WithGivenOverrides(TrainPotential(run, inputs));
}

}  // namespace
}  // namespace rutile

int main(int argc, char** argv) {
  return rutile::RunTool(
      argc, argv,
      {"train", "fit a potential, or embeddings of a knowledge graph", "train [flags] --output_dir=run INPUT...",
       rutile::TrainForeignFlags(), rutile::kEssentialFlags, rutile::kTrainFeatures},
      rutile::RunTrain);
}
