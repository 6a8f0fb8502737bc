#include "tools/train/flags/loss_flags.h"

#include <gflags/gflags.h>

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"

DEFINE_string(loss, "rmse", "Loss of the errors of each quantity: rmse (as in aenet), mse or huber.");
DEFINE_double(force_weight, 0,
              "Weight of the loss of force components, from 0 to 1. It is aenet's alpha; errors are in eV/Angstrom.");
DEFINE_double(energy_weight, -1,
              "Weight of the loss of energies per atom, in eV. With -1, it is 1 - force_weight, as in aenet.");
DEFINE_double(stress_weight, 0, "Weight of the loss of stress components, in eV/Angstrom^3.");
DEFINE_double(huber_delta, 0.01, "Error at which Huber's loss of energies becomes linear, in eV per atom.");
DEFINE_double(huber_delta_force, 0.1,
              "Error at which Huber's loss of force components becomes linear, in eV/Angstrom.");
DEFINE_double(huber_delta_stress, 0.001,
              "Error at which Huber's loss of stress components becomes linear, in eV/Angstrom^3.");
DEFINE_bool(force_scale_unbiased, false,
            "Divide the loss of forces by the root of the sampled share. An option of aenet-python has this name. The "
            "mean over sampled forces is already unbiased, so this serves for comparison only.");

DEFINE_double(force_fraction, 1,
              "Share of the forces that an epoch learns, above 0 and up to 1. It is a share of the structures or of "
              "their atoms, as --force_sample_unit says.");
DEFINE_string(force_sampling, "random",
              "How forces are sampled: random or fixed. With random, other forces are drawn after "
              "--force_resample_num_epochs; with fixed, the first sample stays.");
DEFINE_int64(force_resample_num_epochs, 1,
             "Number of epochs after which other forces are drawn. With 0, the sample stays.");
DEFINE_int64(force_min_structures_per_epoch, 1,
             "Smallest number of structures whose forces an epoch learns. With --force_sample_unit=atom, it is a "
             "number of atoms.");
DEFINE_string(force_sample_unit, "structure", "Unit that --force_fraction draws: structure or atom.");

namespace rutile {
namespace {

const bool for_potentials = FlagsAreFor(FlagDomain::kPotentials, __FILE__);

absl::Status CheckAbove0(const char* name, double value) {
  if (value > 0 && std::isfinite(value)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--", name, "=", value, ": expected a number above 0"));
}

absl::Status CheckWeight(const char* name, double value) {
  if (value >= 0 && std::isfinite(value)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--", name, "=", value, ": expected a number from 0 on"));
}

absl::StatusOr<LossKind> ParseLoss() {
  for (const LossKind kind : {LossKind::kRmse, LossKind::kMse, LossKind::kHuber}) {
    if (FLAGS_loss == LossKindName(kind)) return kind;
  }
  return absl::InvalidArgumentError(absl::StrCat("--loss=", FLAGS_loss, ": expected rmse, mse or huber"));
}

absl::Status SetWeights(LossOptions* loss) {
  loss->force_weight = FLAGS_force_weight;
  loss->stress_weight = FLAGS_stress_weight;
  RETURN_IF_ERROR(CheckWeight("stress_weight", loss->stress_weight));
  if (FlagGiven("energy_weight")) {
    loss->energy_weight = FLAGS_energy_weight;
    RETURN_IF_ERROR(CheckWeight("energy_weight", loss->energy_weight));
    RETURN_IF_ERROR(CheckWeight("force_weight", loss->force_weight));
  } else {
    if (!(loss->force_weight >= 0 && loss->force_weight <= 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--force_weight=", FLAGS_force_weight,
                       ": expected a number from 0 to 1, the rest being the energies' weight; give --energy_weight, "
                       "too, for other weights"));
    }
    loss->energy_weight = 1 - loss->force_weight;
  }
  if (loss->energy_weight + loss->force_weight + loss->stress_weight > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "--energy_weight, --force_weight and --stress_weight are all 0: nothing is learned");
}

}  // namespace

absl::StatusOr<LossOptions> LossOptionsFromFlags() {
  LossOptions loss;
  ASSIGN_OR_RETURN(loss.kind, ParseLoss());
  RETURN_IF_ERROR(SetWeights(&loss));
  if (loss.kind != LossKind::kHuber) {
    RETURN_IF_ERROR(RefuseFlags("without --loss=huber", {"huber_delta", "huber_delta_force", "huber_delta_stress"}));
  }
  if (loss.force_weight == 0) {
    RETURN_IF_ERROR(RefuseFlags("without --force_weight", {"huber_delta_force", "force_scale_unbiased"}));
  }
  if (loss.stress_weight == 0) RETURN_IF_ERROR(RefuseFlags("without --stress_weight", {"huber_delta_stress"}));
  RETURN_IF_ERROR(CheckAbove0("huber_delta", FLAGS_huber_delta));
  RETURN_IF_ERROR(CheckAbove0("huber_delta_force", FLAGS_huber_delta_force));
  RETURN_IF_ERROR(CheckAbove0("huber_delta_stress", FLAGS_huber_delta_stress));
  loss.energy_delta = FLAGS_huber_delta;
  loss.force_delta = FLAGS_huber_delta_force;
  loss.stress_delta = FLAGS_huber_delta_stress;
  loss.force_scale_unbiased = FLAGS_force_scale_unbiased;
  return loss;
}

absl::StatusOr<ForceSamplingOptions> ForceSamplingOptionsFromFlags(const LossOptions& loss) {
  ForceSamplingOptions sampling;
  if (loss.force_weight == 0) {
    RETURN_IF_ERROR(RefuseFlags("without --force_weight", {"force_fraction"}));
  }
  if (!(FLAGS_force_fraction > 0 && FLAGS_force_fraction <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--force_fraction=", FLAGS_force_fraction, ": expected a number above 0 and up to 1"));
  }
  if (FLAGS_force_fraction == 1) {
    RETURN_IF_ERROR(RefuseFlags("without --force_fraction below 1",
                                {"force_sampling", "force_resample_num_epochs", "force_min_structures_per_epoch",
                                 "force_sample_unit", "force_scale_unbiased"}));
  }
  if (FLAGS_force_sampling != "random" && FLAGS_force_sampling != "fixed") {
    return absl::InvalidArgumentError(
        absl::StrCat("--force_sampling=", FLAGS_force_sampling, ": expected random or fixed"));
  }
  if (FLAGS_force_sample_unit != "structure" && FLAGS_force_sample_unit != "atom") {
    return absl::InvalidArgumentError(
        absl::StrCat("--force_sample_unit=", FLAGS_force_sample_unit, ": expected structure or atom"));
  }
  if (FLAGS_force_resample_num_epochs < 0 || FLAGS_force_min_structures_per_epoch < 0) {
    return absl::InvalidArgumentError(
        "--force_resample_num_epochs and --force_min_structures_per_epoch: expected numbers from 0 on");
  }
  const bool fixed = FLAGS_force_sampling == "fixed";
  if (fixed) RETURN_IF_ERROR(RefuseFlags("with --force_sampling=fixed", {"force_resample_num_epochs"}));
  sampling.fraction = FLAGS_force_fraction;
  sampling.unit = FLAGS_force_sample_unit == "atom" ? ForceSampleUnit::kAtom : ForceSampleUnit::kStructure;
  sampling.resample_epochs = fixed ? 0 : FLAGS_force_resample_num_epochs;
  sampling.min_structures = FLAGS_force_min_structures_per_epoch;
  return sampling;
}

}  // namespace rutile
