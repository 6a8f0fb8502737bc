#include "tools/evaluate/outputs.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/evaluation/evaluation_report.h"
#include "lib/evaluation/prediction_tables.h"
#include "lib/evaluation/predictions_file.h"
#include "lib/file/file.h"
#include "lib/tensorfile/provenance.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/run_tool.h"
#include "tools/evaluate/train_log.h"

DEFINE_double(max_energy_rmse, std::numeric_limits<double>::infinity(),
              "Exit with status 2 if the energy RMSE over all structures is above this, in meV/atom.");
DEFINE_double(max_force_rmse, std::numeric_limits<double>::infinity(),
              "Exit with status 2 if the RMSE of force components is above this, in eV/Å.");
DEFINE_double(max_stress_rmse, std::numeric_limits<double>::infinity(),
              "Exit with status 2 if the RMSE of stress components is above this, in eV/Å^3.");

namespace rutile {
namespace {

const bool for_potentials = FlagsAreFor(FlagDomain::kPotentials, __FILE__);

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

}  // namespace

absl::Status WriteOutputs(const std::string& directory, const ToolRun& run, const Models& models,
                          const std::vector<std::string>& inputs, const std::vector<StructurePrediction>& predictions,
                          const std::vector<ErrorRow>& errors, std::optional<TrainingLog> log) {
  std::vector<std::string> files = models.paths;
  files.insert(files.end(), inputs.begin(), inputs.end());
  ASSIGN_OR_RETURN(Metadata metadata, OutputMetadata(run, PredictionsSchema().kind, files));
  metadata["members"] = absl::StrCat(models.potentials.size());
  DescribeSubset(models, &metadata);
  RETURN_IF_ERROR(WritePredictions(directory + "/predictions.safetensors", predictions, metadata));
  RETURN_IF_ERROR(WriteFileAtomically(directory + "/predictions.tsv", PredictionsToTsv(predictions)));
  const bool forces = std::any_of(predictions.begin(), predictions.end(),
                                  [](const StructurePrediction& p) { return !p.predicted_force.empty(); });
  if (forces) RETURN_IF_ERROR(WriteForcesTsv(directory + "/predictions_forces.tsv", predictions));
  RETURN_IF_ERROR(WriteFileAtomically(directory + "/metrics.tsv", ErrorsToTsv(errors)));

  EvaluationReport report;
  report.title = models.names.size() == 1 ? absl::StrCat("Evaluation of ", models.names[0])
                                          : absl::StrCat("Evaluation of a committee of ", models.names.size());
  report.facts = ModelFacts(models);
  report.predictions = predictions;
  report.errors = errors;
  const Metadata& first = models.potentials[0].metadata;
  if (log.has_value()) report.kept = KeptModelOf(*log, first, models.paths[0]);
  report.log = std::move(log);
  for (const char* key : {"features_command", "command"}) {
    const auto command = first.find(key);
    if (command != first.end() && !command->second.empty()) report.commands.push_back(command->second);
  }
  report.commands.push_back(ShellCommand(run.command));
  ASSIGN_OR_RETURN(const std::string warning, WriteEvaluationReport(directory, report));
  if (!warning.empty()) PrintWarning(warning);
  return absl::OkStatus();
}

bool LimitsForces() { return FLAGS_max_force_rmse < kNoLimit || FLAGS_max_stress_rmse < kNoLimit; }

absl::Status CheckLimitFlags(const std::vector<ErrorRow>& errors) {
  return CheckErrorLimits(errors, {{"--max_energy_rmse", "energy", FLAGS_max_energy_rmse},
                                   {"--max_force_rmse", "force", FLAGS_max_force_rmse},
                                   {"--max_stress_rmse", "stress", FLAGS_max_stress_rmse}});
}

}  // namespace rutile
