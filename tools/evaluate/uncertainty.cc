#include "tools/evaluate/uncertainty.h"

#include <gflags/gflags.h>

#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "lib/base/enum_names.h"
#include "lib/base/status_macros.h"
#include "lib/evaluation/deviation_check.h"
#include "lib/file/sha256.h"
#include "lib/potential/model/mace_potential.h"
#include "lib/potential/model/task_options.h"
#include "tools/common/flags/thread_flags.h"
#include "tools/common/run/flag_choice.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"
#include "tools/common/run/run_tool.h"

DEFINE_string(uncertainty, "",
              "File of tracin --mode=curvature for the model: predict standard deviations as well. Empty: none.");
DEFINE_string(uncertainty_of, "energy",
              "What --uncertainty is computed of: energy (of structures), atoms (energies of structures and of their "
              "atoms), forces (energies of structures and force components), or all. Forces cost a gradient of all "
              "parameters for each component.");

namespace rutile {
namespace {

enum class UncertaintyOf { kEnergy, kAtoms, kForces, kAll };
constexpr absl::string_view kUncertaintyOfWords[] = {"energy", "atoms", "forces", "all"};
constexpr EnumNames<UncertaintyOf> kUncertaintyOfNames("no uncertainty is computed of", kUncertaintyOfWords);

const bool for_potentials = FlagsAreFor(FlagDomain::kPotentials, __FILE__);

}  // namespace

Uncertainty::Uncertainty(const Potential& potential, Curvature curvature)
    : curvature_(std::move(curvature)), formulas_(potential, LossOptions(), TermWeights(), AngularMethod::kMoments) {}

absl::StatusOr<std::unique_ptr<Uncertainty>> Uncertainty::FromFlags(const Models& models) {
  if (FLAGS_uncertainty.empty()) {
    RETURN_IF_ERROR(RefuseFlags("without --uncertainty", {"uncertainty_of"}));
    return nullptr;
  }
  for (size_t m = 0; m < models.potentials.size(); ++m) {
    RETURN_IF_ERROR(RefuseMace(models.potentials[m], models.names[m], "--uncertainty"));
  }
  UncertaintyOptions options;
  ASSIGN_OR_RETURN(const UncertaintyOf of,
                   ParseFlagChoice("uncertainty_of", FLAGS_uncertainty_of, kUncertaintyOfNames));
  options.atoms = of == UncertaintyOf::kAtoms || of == UncertaintyOf::kAll;
  options.forces = of == UncertaintyOf::kForces || of == UncertaintyOf::kAll;
  ASSIGN_OR_RETURN(Curvature curvature, ReadCurvature(FLAGS_uncertainty));
  ASSIGN_OR_RETURN(const size_t member, FindMemberOf(curvature, models.potentials, models.names));
  const Potential& potential = models.potentials[member];
  if (potential.shape.has_messages() && options.atoms) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--uncertainty_of=", FLAGS_uncertainty_of, ": ", models.names[member],
        " has --messages, and atoms of such a potential have no uncertainties of their own: take energy or "
        "forces"));
  }
  if (models.potentials.size() > 1) {
    PrintMessage(
        absl::StrCat("--uncertainty is that of ", models.names[member], "; predictions are the mean of the committee"));
  }
  auto result = absl::WrapUnique(new Uncertainty(potential, std::move(curvature)));
  result->options_ = options;
  for (int t = 0; t < ThreadsFromFlags(); ++t) {
    result->workers_.push_back(std::make_unique<Worker>(result->formulas_, result->curvature_));
  }
  return result;
}

void Uncertainty::Add(int thread, const StructureGeometry& geometry, StructurePrediction* prediction,
                      std::vector<double>* energy_row) {
  Worker& worker = *workers_[thread];
  worker.predictor.Predict(geometry, options_, &worker.found);
  prediction->energy_std = worker.found.energy;
  prediction->atom_energy_std = worker.found.atom_energy;
  prediction->force_std = worker.found.force;
  if (energy_row != nullptr) *energy_row = worker.found.energy_row;
}

void PrintCalibrations(absl::Span<const StructurePrediction> predictions) {
  for (const DeviationCheck& each : DeviationChecksOf(predictions)) PrintMessage(DescribeDeviationCheck(each));
}

absl::StatusOr<std::vector<std::string>> UncertaintySelection() {
  std::vector<std::string> words;
  if (FLAGS_uncertainty.empty()) return words;
  ASSIGN_OR_RETURN(const std::string hash, Sha256HexOfFile(FLAGS_uncertainty));
  words.push_back(absl::StrCat("--uncertainty=sha256:", hash.substr(0, 16)));
  ASSIGN_OR_RETURN(const UncertaintyOf of,
                   ParseFlagChoice("uncertainty_of", FLAGS_uncertainty_of, kUncertaintyOfNames));
  if (of != UncertaintyOf::kEnergy) words.push_back(absl::StrCat("--uncertainty_of=", kUncertaintyOfNames.Name(of)));
  return words;
}

}  // namespace rutile
