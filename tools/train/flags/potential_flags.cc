#include "tools/train/flags/potential_flags.h"

#include <gflags/gflags.h>

#include "absl/status/statusor.h"
#include "lib/base/status_macros.h"
#include "tools/common/flags/angular_flag.h"
#include "tools/common/flags/atomic_energies.h"
#include "tools/common/flags/setting_flags.h"
#include "tools/common/flags/thread_flags.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"
#include "tools/train/flags/loss_flags.h"

DEFINE_string(
    atomic_energies, "",
    "Atomic reference energies in eV. They are given as Ti=-1604.6,O=-432.5 or as a file. Elements without one have "
    "that of the features, else of --isolated_atoms, else of the model of --init_from, else one of a least-squares fit "
    "to the training structures, with the others fixed.");

namespace rutile {
namespace {

const bool for_potentials = FlagsAreFor(FlagDomain::kPotentials, __FILE__);

const SettingFlags<AtomisticTaskOptions>& Flags() {
  static const auto* flags = new SettingFlags<AtomisticTaskOptions>(AtomisticTaskSettings(), __FILE__);
  return *flags;
}

AtomisticTaskOptions FlagDefaults() {
  AtomisticTaskOptions options;
  options.channels = 64;
  options.feature_scaling = FeatureScalingKind::kPerSpecies;  // which lowers errors
  options.hidden = {32, 32};
  options.activation = Activation::kSilu;
  return options;
}

const bool registered = Flags().Register(FlagDefaults());

}  // namespace

absl::StatusOr<AtomisticTaskOptions> AtomisticTaskOptionsFromFlags(Preset preset) {
  AtomisticTaskOptions options;
  RETURN_IF_ERROR(Flags().CopyTo(&options));
  if (preset == Preset::kAenet) {
    const AtomisticTaskOptions aenet;
    if (!FlagGiven("hidden")) options.hidden = aenet.hidden;
    if (!FlagGiven("activation")) options.activation = aenet.activation;
  }
  ASSIGN_OR_RETURN(options.loss, LossOptionsFromFlags(preset));
  ASSIGN_OR_RETURN(options.force_sampling, ForceSamplingOptionsFromFlags(options.loss));
  ASSIGN_OR_RETURN(options.atomic_energies, ParseAtomicEnergies(FLAGS_atomic_energies));
  options.angular = AngularMethodFromFlags();
  options.num_threads = ThreadsFromFlags();
  return options;
}

}  // namespace rutile
