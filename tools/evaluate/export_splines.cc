#include "tools/evaluate/export_splines.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/status_macros.h"
#include "lib/mace/mace_file.h"
#include "lib/mace/mace_model.h"
#include "lib/mace/radial_splines.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"

DEFINE_string(
    splines_output, "",
    "Write the MACE model with its radial functions as splines, for molecular dynamics, into this file, and do "
    "nothing else.");
DEFINE_int32(spline_knots, 0,
             "Knots of --splines_output, 2 to 10000; 0: as many as keep functions within 1e-8 of their largest value. "
             "The error falls with the sixth power of their number.");
DEFINE_validator(spline_knots,
                 [](const char*, int n) { return n == 0 || (n >= 2 && n <= rutile::MaceModel::kMostKnots); });

namespace rutile {
namespace {

const bool for_potentials = FlagsAreFor(FlagDomain::kPotentials, __FILE__);

constexpr double kWantedError = 1e-8, kWorstError = 1e-4;
constexpr int kFewestKnots = 100;

// Doubles the number of knots until the error is as wanted.
int ChooseKnots(const MaceModel& model) {
  int knots = kFewestKnots;
  while (knots < MaceModel::kMostKnots && !(MeasureSplines(model, knots).value <= kWantedError)) {
    knots = std::min(2 * knots, MaceModel::kMostKnots);
  }
  return knots;
}

}  // namespace

bool WantsSplines() { return !FLAGS_splines_output.empty() || FlagGiven("spline_knots"); }

absl::Status ExportSplines(const ToolRun& run, const Models& models) {
  if (FLAGS_splines_output.empty()) return RefuseFlags("without --splines_output", {"spline_knots"});
  RETURN_IF_ERROR(
      RefuseFlags("with --splines_output, which evaluates nothing",
                  {"output_dir", "output_xyz", "frames", "config_type", "forces", "check", "train_log", "shard",
                   "uncertainty", "select", "max_energy_rmse", "max_force_rmse", "max_stress_rmse"}));
  if (run.args.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("--splines_output needs a model and nothing else, found ", run.args.size(), " arguments"));
  }
  if (models.potentials.size() > 1) {
    return absl::InvalidArgumentError("--splines_output writes one model: give the members of a committee one by one");
  }
  const Potential& potential = models.potentials[0];
  if (potential.mace == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("--splines_output: ", models.names[0],
                     " is a model of train, whose radial functions are no MLPs and cost next to nothing; expected a "
                     "MACE model, as rutile.import_mace writes"));
  }
  MaceModel model = *potential.mace;
  if (model.neighborhood.cutoff <= RadialSplines::kFirstKnot) {
    return absl::InvalidArgumentError(absl::StrCat("--splines_output: the cutoff of ", models.names[0], " is ",
                                                   model.neighborhood.cutoff, " Å, expected more than the first knot, ",
                                                   RadialSplines::kFirstKnot, " Å"));
  }
  model.radial_splines = FLAGS_spline_knots > 0 ? FLAGS_spline_knots : ChooseKnots(model);
  const SplineError error = MeasureSplines(model, model.radial_splines);
  if (!(error.value <= kWorstError)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--splines_output: with %d knots the radial functions of %s are off by %.2g of their largest value, expected "
        "at most %g; give more --spline_knots",
        model.radial_splines, models.names[0], error.value, kWorstError));
  }
  if (FLAGS_spline_knots == 0 && !(error.value <= kWantedError)) {
    PrintWarning(
        absl::StrFormat("the radial functions of %s are off by %.2g of their largest value even with %d knots, "
                        "where %g was wanted",
                        models.names[0], error.value, model.radial_splines, kWantedError));
  }
  ASSIGN_OR_RETURN(Metadata metadata, OutputMetadata(run, "mace/1", models.paths));
  RETURN_IF_ERROR(WriteMace(FLAGS_splines_output, model, metadata));
  PrintMessage(absl::StrFormat(
      "wrote %s: radial functions as splines of %d knots, off by at most %.2g of the largest value, slopes by %.2g",
      FLAGS_splines_output, model.radial_splines, error.value, error.slope));
  return absl::OkStatus();
}

}  // namespace rutile
