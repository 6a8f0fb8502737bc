// evaluate: errors and predictions of a model on data. Which kind of model it is follows from its file.

#include <gflags/gflags.h>

#include <iostream>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "lib/base/file.h"
#include "lib/base/input_files.h"
#include "lib/base/progress.h"
#include "lib/base/status_macros.h"
#include "lib/evaluation/prediction_errors.h"
#include "lib/evaluation/training_log.h"
#include "lib/potential/aenet_file.h"
#include "lib/potential/force_check.h"
#include "lib/potential/force_predictor.h"
#include "lib/potential/predict_inputs.h"
#include "lib/train/split.h"
#include "tools/common/run_tool.h"
#include "tools/common/structure_flags.h"
#include "tools/common/thread_flags.h"
#include "tools/evaluate/evaluate_kge.h"
#include "tools/evaluate/models.h"
#include "tools/evaluate/outputs.h"

DEFINE_string(output_dir, "", "Directory for tables, predictions, plots and report.html. Empty: none are written.");
DEFINE_string(frames, "", "File with the numbers of the structures to evaluate, from 0 over all of DATA. Empty: all.");
DEFINE_string(config_type, "", "Glob: only structures whose config type fits. Empty: all.");
DEFINE_bool(forces, true, "Predict forces and stress as well, at several times the cost of energies alone.");
DEFINE_bool(check, false,
            "Compare forces and stress of the first 3 structures with finite differences of the energy, and see that "
            "the forces of each structure add up to zero. Exit with status 2 if not.");
DEFINE_string(train_log, "", "log.tsv of the run that made the model, for a learning curve in the report.");
DEFINE_double(max_energy_rmse, std::numeric_limits<double>::infinity(),
              "Exit with status 2 if the energy RMSE over all structures is above this, in meV/atom.");
DEFINE_double(max_force_rmse, std::numeric_limits<double>::infinity(),
              "Exit with status 2 if the RMSE of force components is above this, in eV/Å.");
DEFINE_double(max_stress_rmse, std::numeric_limits<double>::infinity(),
              "Exit with status 2 if the RMSE of stress components is above this, in eV/Å^3.");
DEFINE_string(export_aenet, "",
              "Write the model as aenet reads it, SPECIES.nn.ascii, into this directory. Then no data need be given.");
DEFINE_bool(progress, true, "Show progress when standard error is a terminal.");

namespace rutile {
namespace {

constexpr int kCheckedStructures = 3;

absl::Status ExportToAenet(const Models& models) {
  if (models.potentials.size() > 1) {
    return absl::InvalidArgumentError("--export_aenet writes one model: export the members of a committee one by one");
  }
  RETURN_IF_ERROR(WriteAenetPotentials(FLAGS_export_aenet, models.potentials[0]));
  PrintMessage(absl::StrCat("wrote ", FLAGS_export_aenet, "/SPECIES.nn.ascii"));
  return absl::OkStatus();
}

absl::StatusOr<PredictOptions> PredictOptionsFromFlags() {
  PredictOptions options;
  ASSIGN_OR_RETURN(options.reader, StructureReaderOptionsFromFlags());
  options.num_threads = ThreadsFromFlags();
  options.forces = FLAGS_forces;
  options.config_type = FLAGS_config_type;
  if (!FLAGS_frames.empty()) {
    ASSIGN_OR_RETURN(options.frames, ReadIndexFile(FLAGS_frames));
  }
  const double infinity = std::numeric_limits<double>::infinity();
  if (!FLAGS_forces && (FLAGS_check || FLAGS_max_force_rmse < infinity || FLAGS_max_stress_rmse < infinity)) {
    return absl::InvalidArgumentError("--check, --max_force_rmse and --max_stress_rmse need --forces");
  }
  return options;
}

absl::Status RunEvaluate(const ToolRun& run) {
  if (!run.args.empty() && IsKgeModel(run.args[0])) return EvaluateKge(run);
  RETURN_IF_ERROR(RefuseKgeFlags("with an interatomic potential"));
  const bool exports = !FLAGS_export_aenet.empty();
  if (run.args.size() < (exports ? 1 : 2)) {
    return absl::InvalidArgumentError("needs a model and at least one file of data; see evaluate --help");
  }
  ASSIGN_OR_RETURN(PredictOptions options, PredictOptionsFromFlags());
  std::optional<TrainingLog> log;
  if (!FLAGS_train_log.empty()) {
    if (FLAGS_output_dir.empty()) {
      return absl::InvalidArgumentError("--train_log draws a learning curve in the report: give --output_dir as well");
    }
    ASSIGN_OR_RETURN(log, ReadTrainingLog(FLAGS_train_log));
  }
  ASSIGN_OR_RETURN(const Models models, ReadModels(run.args[0]));
  if (exports) {
    RETURN_IF_ERROR(ExportToAenet(models));
    if (run.args.size() == 1) return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> inputs,
                   ExpandInputs(std::vector<std::string>(run.args.begin() + 1, run.args.end())));
  if (!FLAGS_output_dir.empty()) RETURN_IF_ERROR(MakeDirectories(FLAGS_output_dir));

  ProgressBar progress("evaluate", options.frames.has_value() ? static_cast<int64_t>(options.frames->size()) : -1,
                       FLAGS_progress);
  options.on_progress = [&](int64_t structures) { progress.Add(structures); };
  std::optional<ForceCheck> check;
  int checked = 0;
  if (FLAGS_check) {
    check.emplace(models.potentials);
    options.on_structure = [&](const Structure& s) {
      return checked++ < kCheckedStructures ? check->Add(s) : absl::OkStatus();
    };
  }
  ASSIGN_OR_RETURN(const std::vector<StructurePrediction> predictions,
                   PredictInputs(models.potentials, inputs, options));
  progress.Finish();

  const std::vector<ErrorRow> errors = ComputeErrors(predictions);
  std::cout << ErrorsToTsv(errors);
  const std::string warning = ExtrapolationWarning(predictions);
  if (!warning.empty()) PrintWarning(warning);
  if (!FLAGS_output_dir.empty()) {
    RETURN_IF_ERROR(WriteOutputs(FLAGS_output_dir, run, models, inputs, predictions, errors, std::move(log)));
    PrintMessage(absl::StrCat("wrote ", FLAGS_output_dir, "/report.html, predictions.tsv and metrics.tsv"));
  }
  if (check.has_value()) {
    RETURN_IF_ERROR(check->Result());
    RETURN_IF_ERROR(CheckNetForces(predictions, CommitteePrecision(models.potentials)));
    PrintMessage(absl::StrCat("check: ", check->Summary(), "; forces of each of ", predictions.size(),
                              " structures add up to at most ", FindError(errors, "net_force")->max, " eV/Å"));
  }
  return CheckErrorLimits(errors, {{"--max_energy_rmse", "energy", FLAGS_max_energy_rmse},
                                   {"--max_force_rmse", "force", FLAGS_max_force_rmse},
                                   {"--max_stress_rmse", "stress", FLAGS_max_stress_rmse}});
}

}  // namespace
}  // namespace rutile

int main(int argc, char** argv) {
  return rutile::RunTool(argc, argv,
                         {"evaluate", "errors and predictions of a model",
                          "evaluate [flags] MODEL[,MODEL...] DATA...    (features, neighbors, or structures)\n"
                          "       evaluate [flags] MODEL TRIPLES [KNOWN]       (a knowledge graph)"},
                         rutile::RunEvaluate);
}
