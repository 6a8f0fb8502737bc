// The evaluate tool: errors and predictions of a model on data. The model's file selects the kind of model.

#include <gflags/gflags.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/evaluation/prediction_errors.h"
#include "lib/evaluation/training_log.h"
#include "lib/file/file.h"
#include "lib/file/input_files.h"
#include "lib/potential/prediction/force_check.h"
#include "lib/potential/prediction/force_predictor.h"
#include "lib/potential/prediction/predict_inputs.h"
#include "lib/structure/structure.h"
#include "tools/common/flags/memory_flag.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"
#include "tools/common/run/run_tool.h"
#include "tools/evaluate/common_flags.h"
#include "tools/evaluate/export_aenet.h"
#include "tools/evaluate/export_splines.h"
#include "tools/evaluate/graphs/evaluate_kge.h"
#include "tools/evaluate/models.h"
#include "tools/evaluate/near_pairs.h"
#include "tools/evaluate/output_xyz.h"
#include "tools/evaluate/outputs.h"
#include "tools/evaluate/own_labels.h"
#include "tools/evaluate/predictions.h"
#include "tools/evaluate/selection.h"
#include "tools/evaluate/shards.h"
#include "tools/evaluate/train_log.h"
#include "tools/evaluate/uncertainty.h"

DECLARE_bool(forces);

DEFINE_bool(check, false,
            "Compare forces and stress of the first 3 structures with finite differences of the energy, and see that "
            "the forces of each structure add up to zero. Exit with status 2 if not.");

namespace rutile {
namespace {

const bool for_potentials = FlagsAreFor(FlagDomain::kPotentials, __FILE__);

constexpr int kCheckedStructures = 3;

absl::Status CheckFlags(const EvaluateShard& shard) {
  if (!FLAGS_forces && (FLAGS_check || LimitsForces())) {
    return absl::InvalidArgumentError("--check, --max_force_rmse and --max_stress_rmse need --forces");
  }
  if (shard.is_part()) {
    return RefuseFlags("with --shard, which writes a part for a later run",
                       {"output_xyz", "select", "train_log", "max_energy_rmse", "max_force_rmse", "max_stress_rmse"});
  }
  return CheckTrainLog();
}

absl::Status RunEvaluate(const ToolRun& run) {
  constexpr char kNeeds[] = "needs a model and at least one file of data; see evaluate --help";
  if (run.args.empty()) return absl::InvalidArgumentError(kNeeds);
  ASSIGN_OR_RETURN(const std::string mapped, MapMemoryFromFlag());
  if (!mapped.empty()) PrintMessage(mapped);
  if (IsKgeModel(run.args[0])) return EvaluateKge(run);
  // Read the models before checking flags: otherwise a file that is no model would be taken for a potential, and flags
  // of embeddings would be blamed.
  ASSIGN_OR_RETURN(const Models models, ReadModels(run.args[0]));
  RETURN_IF_ERROR(RefuseFlagsFor(FlagDomain::kEmbeddings, "with an interatomic potential"));
  for (size_t m = 0; m < models.names.size(); ++m) {
    WarnOfUnfinishedRun(models.names[m], models.potentials[m].metadata);
    SayIfOfSubset(models.names[m], models.potentials[m].metadata);
  }
  WarnOfEqualMembers(models);
  if (WantsAenet()) return ExportToAenet(run, models);
  if (WantsSplines()) return ExportSplines(run, models);
  if (run.args.size() < 2) return absl::InvalidArgumentError(kNeeds);
  ASSIGN_OR_RETURN(const EvaluateShard shard, ShardFromFlags());
  RETURN_IF_ERROR(CheckFlags(shard));
  if (models.potentials.size() > 1) {
    RETURN_IF_ERROR(RefuseFlags("with several models, as a log is of the run of one", {"train_log"}));
  }
  ASSIGN_OR_RETURN(std::optional<TrainingLog> log, TrainLogFromFlag());
  ASSIGN_OR_RETURN(const std::vector<std::string> inputs,
                   ExpandInputs(std::vector<std::string>(run.args.begin() + 1, run.args.end())));
  if (!FLAGS_output_dir.empty()) RETURN_IF_ERROR(MakeDirectories(FLAGS_output_dir));
  std::optional<ForceCheck> check;
  PredictionHooks hooks;
  if (FLAGS_check) {
    check.emplace(models.potentials);
    hooks.on_structure = [&check, checked = 0](const Structure& s) mutable {
      return checked++ < kCheckedStructures ? check->Add(s) : absl::OkStatus();
    };
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<XyzOutput> xyz, XyzOutput::FromFlags(models, inputs));
  if (xyz != nullptr) hooks.on_prediction = [&](const PredictedStructure& p) { return xyz->Add(p); };
  ASSIGN_OR_RETURN(const std::unique_ptr<Uncertainty> uncertainty, Uncertainty::FromFlags(models));
  ASSIGN_OR_RETURN(const std::unique_ptr<Selection> selection, Selection::FromFlags(models, inputs, uncertainty.get()));
  AddHooks(uncertainty.get(), selection.get(), &hooks);
  ASSIGN_OR_RETURN(const std::vector<StructurePrediction> predictions,
                   PredictionsFromFlags(models, inputs, shard, std::move(hooks)));
  if (selection != nullptr) RETURN_IF_ERROR(selection->Write(inputs, predictions));
  const std::vector<ErrorRow> errors = ComputeErrors(predictions);
  if (!shard.is_part()) {
    std::cout << ErrorsToTsv(errors);
    for (const std::string& partial : PartialErrors(errors)) PrintWarning(partial);
  }
  const bool repels = std::any_of(models.potentials.begin(), models.potentials.end(),
                                  [](const Potential& p) { return !p.repulsion.empty(); });
  const std::string near = NearPairsWarning(predictions, models.potentials[0].descriptor.min_cutoff(), repels);
  for (const std::string& text : {OwnLabelsWarning(predictions), near, ExtrapolationWarning(predictions)}) {
    if (!text.empty()) PrintWarning(text);
  }
  std::vector<std::string> files = inputs;
  if (uncertainty != nullptr) files.push_back(uncertainty->path());
  if (shard.is_part()) {
    RETURN_IF_ERROR(WritePredictionsPart(run, models, files, shard, predictions));
  } else if (!FLAGS_output_dir.empty()) {
    RETURN_IF_ERROR(WriteOutputs(FLAGS_output_dir, run, models, files, predictions, errors, std::move(log)));
    PrintMessage(absl::StrCat("wrote ", FLAGS_output_dir, "/report.html, predictions.tsv and metrics.tsv"));
  }
  if (uncertainty != nullptr) PrintCalibrations(predictions);
  if (xyz != nullptr) RETURN_IF_ERROR(xyz->Commit());
  if (check.has_value()) {
    RETURN_IF_ERROR(check->Result());
    RETURN_IF_ERROR(CheckNetForces(predictions, CommitteePrecision(models.potentials)));
    PrintMessage(absl::StrCat("check: ", check->Summary(), "; forces of each of ", predictions.size(),
                              " structures add up to at most ", FindError(errors, "net_force")->max, " eV/Å"));
  }
  return CheckLimitFlags(errors);
}

}  // namespace
}  // namespace rutile

int main(int argc, char** argv) {
  return rutile::RunTool(
      argc, argv,
      {"evaluate", "errors and predictions of a model",
       "evaluate [flags] MODEL[,MODEL...] DATA...    (features, neighbors, structures, or predictions)\n"
       "       evaluate [flags] MODEL[,MODEL...] TRIPLES [KNOWN]       (a knowledge graph)\n"
       "       evaluate [flags] MODEL[,MODEL...] TRIPLES RANKS..."},
      rutile::RunEvaluate);
}
