#include "tools/train/flags/loss_flags.h"

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/base/settings.h"
#include "lib/base/status_macros.h"
#include "tools/common/flags/setting_flags.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"

namespace rutile {
namespace {

const bool for_potentials = FlagsAreFor(FlagDomain::kPotentials, __FILE__);

const SettingFlags<LossOptions>& Flags() {
  static const auto* flags = new SettingFlags<LossOptions>(LossSettings(), __FILE__);
  return *flags;
}

const SettingFlags<ForceSamplingOptions>& SamplingFlags() {
  static const auto* flags = new SettingFlags<ForceSamplingOptions>(ForceSamplingSettings(), __FILE__);
  return *flags;
}

const bool registered = Flags().Register() && SamplingFlags().Register();

// The weight of energies where --energy_weight leaves it open.
absl::StatusOr<double> RestOfForceWeight(double force_weight) {
  if (force_weight >= 0 && force_weight <= 1) return 1 - force_weight;
  return absl::InvalidArgumentError(
      absl::StrCat("--force_weight=", force_weight,
                   ": expected a number from 0 to 1, the rest being the energies' weight; give --energy_weight, too, "
                   "for other weights"));
}

constexpr double kOpen = -1;
// Lower errors of energies and forces than 0.1, and than 0.5 and more (docs/tried.md).
constexpr double kForceWeight = 0.3;

bool SaysHowForcesAreLearned() {
  for (const std::string& name : SamplingFlags().names()) {
    if (FlagGiven(name.c_str())) return true;
  }
  return FlagGiven("force_scale_unbiased") || FlagGiven("huber_delta_force");
}

bool WeightOfForcesIsOpen(Preset preset) {
  return preset == Preset::kDefault && !FlagGiven("force_weight") && !FlagGiven("energy_weight");
}

}  // namespace

absl::StatusOr<LossOptions> LossOptionsFromFlags(Preset preset) {
  LossOptions loss;
  loss.energy_weight = kOpen;
  loss.force_weight = preset == Preset::kDefault && SaysHowForcesAreLearned() ? kForceWeight : 0;
  RETURN_IF_ERROR(Flags().CopyTo(&loss));
  if (loss.energy_weight == kOpen) {
    ASSIGN_OR_RETURN(loss.energy_weight, RestOfForceWeight(loss.force_weight));
  }
  RETURN_IF_ERROR(Flags().RefuseUnused(loss));
  if (loss.force_weight == 0) RETURN_IF_ERROR(RefuseFlags("without --force_weight", {"huber_delta_force"}));
  if (loss.stress_weight == 0) RETURN_IF_ERROR(RefuseFlags("without --stress_weight", {"huber_delta_stress"}));
  RETURN_IF_ERROR(CheckLossOptions(loss));
  return loss;
}

bool MayLearnForces(Preset preset, const LossOptions& loss) {
  return loss.force_weight > 0 || loss.stress_weight > 0 || WeightOfForcesIsOpen(preset);
}

bool LearnForces(Preset preset, LossOptions* loss) {
  if (!WeightOfForcesIsOpen(preset) || loss->force_weight > 0) return false;
  loss->force_weight = kForceWeight;
  loss->energy_weight = 1 - kForceWeight;
  return true;
}

absl::StatusOr<ForceSamplingOptions> ForceSamplingOptionsFromFlags(const LossOptions& loss) {
  ForceSamplingOptions sampling;
  if (loss.force_weight == 0) RETURN_IF_ERROR(SamplingFlags().RefuseAll("without --force_weight"));
  RETURN_IF_ERROR(SamplingFlags().CopyTo(&sampling));
  RETURN_IF_ERROR(CheckRanges(ForceSamplingSettings(), sampling));
  RETURN_IF_ERROR(SamplingFlags().RefuseUnused(sampling));
  if (sampling.fraction == 1) {
    RETURN_IF_ERROR(RefuseFlags("without --force_fraction below 1", {"force_scale_unbiased"}));
  }
  if (SettingFlagText(*FindSetting(ForceSamplingSettings(), "force_sampling")) == "fixed") {
    RETURN_IF_ERROR(RefuseFlags("with --force_sampling=fixed", {"force_resample_num_epochs"}));
  }
  return sampling;
}

}  // namespace rutile
