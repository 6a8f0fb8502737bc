// evaluate: errors and predictions of a model on data.

#include <gflags/gflags.h>

#include <iostream>
#include <limits>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/base/file.h"
#include "lib/base/input_files.h"
#include "lib/base/progress.h"
#include "lib/base/status_macros.h"
#include "lib/evaluation/energy_errors.h"
#include "lib/evaluation/energy_report.h"
#include "lib/evaluation/predictions_file.h"
#include "lib/evaluation/training_log.h"
#include "lib/potential/potential_file.h"
#include "lib/potential/predict_inputs.h"
#include "lib/structure/element.h"
#include "lib/tensorfile/provenance.h"
#include "lib/train/split.h"
#include "tools/common/run_tool.h"
#include "tools/common/structure_flags.h"
#include "tools/common/thread_flags.h"

DEFINE_string(output_dir, "", "Directory for tables, predictions, plots and report.html. Empty: none are written.");
DEFINE_string(frames, "", "File with the numbers of the structures to evaluate, from 0 over all of DATA. Empty: all.");
DEFINE_string(config_type, "", "Glob: only structures whose config type fits. Empty: all.");
DEFINE_string(train_log, "", "log.tsv of the run that made the model, for a learning curve in the report.");
DEFINE_double(max_energy_rmse, std::numeric_limits<double>::infinity(),
              "Exit with status 2 if the energy RMSE over all structures is above this, in meV/atom.");
DEFINE_bool(progress, true, "Show progress when standard error is a terminal.");

namespace rutile {
namespace {

std::vector<std::pair<std::string, std::string>> Facts(const Potential& potential, const std::string& model) {
  const ChebyshevOptions& d = potential.descriptor;
  std::vector<std::pair<std::string, std::string>> facts = {
      {"file", model},
      {"species",
       absl::StrJoin(d.species, ", ", [](std::string* out, uint8_t z) { absl::StrAppend(out, ElementSymbol(z)); })},
      {"radial", absl::StrFormat("order %d, cutoff %g Å", d.rad_order, d.rad_cutoff)},
      {"angular", absl::StrFormat("order %d, cutoff %g Å", d.ang_order, d.ang_cutoff)},
      {"network", absl::StrCat(potential.shape.num_features, "-", absl::StrJoin(potential.shape.hidden, "-"), "-1, ",
                               ActivationName(potential.shape.activation), ", one for each species")},
      {"parameters", absl::StrCat(potential.shape.num_parameters())}};
  for (size_t s = 0; s < d.species.size(); ++s) {
    facts.emplace_back(absl::StrCat("atomic energy of ", ElementSymbol(d.species[s])),
                       absl::StrFormat("%.6f eV", potential.atomic_energies[s]));
  }
  for (const char* key : {"epoch", "loss"}) {
    const auto found = potential.metadata.find(key);
    if (found != potential.metadata.end()) facts.emplace_back(key, found->second);
  }
  return facts;
}

absl::Status WriteOutputs(const ToolRun& run, const Potential& potential,
                          const std::vector<EnergyPrediction>& predictions, const std::vector<EnergyErrors>& errors,
                          const std::vector<std::string>& inputs, std::optional<TrainingLog> log) {
  const std::string& directory = FLAGS_output_dir;
  std::vector<std::string> files = inputs;
  files.insert(files.begin(), run.args[0]);
  ASSIGN_OR_RETURN(const Metadata metadata, OutputMetadata(run, PredictionsSchema().kind, files));
  RETURN_IF_ERROR(WritePredictions(directory + "/predictions.safetensors", predictions, metadata));
  RETURN_IF_ERROR(WriteFileAtomically(directory + "/predictions.tsv", PredictionsToTsv(predictions)));
  RETURN_IF_ERROR(WriteFileAtomically(directory + "/metrics.tsv", EnergyErrorsToTsv(errors)));

  EnergyReport report;
  report.title = absl::StrCat("Energies of ", run.args[0]);
  report.facts = Facts(potential, run.args[0]);
  report.predictions = predictions;
  report.errors = errors;
  report.log = std::move(log);
  double best_epoch = 0;
  const auto epoch = potential.metadata.find("epoch");
  if (epoch != potential.metadata.end() && absl::SimpleAtod(epoch->second, &best_epoch)) report.best_epoch = best_epoch;
  for (const char* key : {"features_command", "command"}) {
    const auto command = potential.metadata.find(key);
    if (command != potential.metadata.end() && !command->second.empty()) report.commands.push_back(command->second);
  }
  report.commands.push_back(ShellCommand(run.command));
  return WriteEnergyReport(directory, report);
}

absl::Status RunEvaluate(const ToolRun& run) {
  if (run.args.size() < 2) {
    return absl::InvalidArgumentError("needs a model and at least one file of data; see evaluate --help");
  }
  PredictOptions options;
  ASSIGN_OR_RETURN(options.reader, StructureReaderOptionsFromFlags());
  options.num_threads = ThreadsFromFlags();
  options.config_type = FLAGS_config_type;
  if (!FLAGS_frames.empty()) {
    ASSIGN_OR_RETURN(options.frames, ReadIndexFile(FLAGS_frames));
  }
  std::optional<TrainingLog> log;
  if (!FLAGS_train_log.empty()) {
    if (FLAGS_output_dir.empty()) {
      return absl::InvalidArgumentError("--train_log draws a learning curve in the report: give --output_dir as well");
    }
    ASSIGN_OR_RETURN(log, ReadTrainingLog(FLAGS_train_log));
  }
  ASSIGN_OR_RETURN(const Potential potential, ReadPotential(run.args[0]));
  ASSIGN_OR_RETURN(const std::vector<std::string> inputs,
                   ExpandInputs(std::vector<std::string>(run.args.begin() + 1, run.args.end())));
  if (!FLAGS_output_dir.empty()) RETURN_IF_ERROR(MakeDirectories(FLAGS_output_dir));

  ProgressBar progress("evaluate", options.frames.has_value() ? static_cast<int64_t>(options.frames->size()) : -1,
                       FLAGS_progress);
  options.on_progress = [&](int64_t structures) { progress.Add(structures); };
  ASSIGN_OR_RETURN(const std::vector<EnergyPrediction> predictions, PredictInputs(potential, inputs, options));
  progress.Finish();

  const std::vector<EnergyErrors> errors = ComputeEnergyErrors(predictions);
  std::cout << EnergyErrorsToTsv(errors);
  if (!FLAGS_output_dir.empty()) {
    RETURN_IF_ERROR(WriteOutputs(run, potential, predictions, errors, inputs, std::move(log)));
    PrintMessage(absl::StrCat("wrote ", FLAGS_output_dir, "/report.html, predictions.tsv and metrics.tsv"));
  }
  if (FLAGS_max_energy_rmse == std::numeric_limits<double>::infinity()) return absl::OkStatus();
  if (errors.empty()) {
    return absl::FailedPreconditionError("--max_energy_rmse cannot be checked: the data has no energies");
  }
  if (errors[0].rmse_per_atom <= FLAGS_max_energy_rmse) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrFormat("energy RMSE %.4f meV/atom is above --max_energy_rmse=%g",
                                                       errors[0].rmse_per_atom, FLAGS_max_energy_rmse));
}

}  // namespace
}  // namespace rutile

int main(int argc, char** argv) {
  return rutile::RunTool(argc, argv,
                         {"evaluate", "errors and predictions of a model",
                          "evaluate [flags] MODEL DATA...    (features.safetensors or structures)"},
                         rutile::RunEvaluate);
}
