#include "tools/train/flags/potential_flags.h"

#include <gflags/gflags.h>

#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "tools/common/flags/angular_flag.h"
#include "tools/common/flags/atomic_energies.h"
#include "tools/common/flags/thread_flags.h"
#include "tools/common/run/flag_domain.h"
#include "tools/train/flags/loss_flags.h"

DEFINE_string(hidden, "15,15", "Nodes of each hidden layer, separated by commas. If empty, the model is linear.");
DEFINE_string(activation, "tanh",
              "Hidden activation: tanh, sigmoid, linear, mtanh, twist or silu. The functions mtanh and twist are those "
              "of aenet.");
DEFINE_string(feature_scaling, "species",
              "Statistics that standardize features: species, pooled or none. With species, they are those of each "
              "central species, as in aenet; with pooled, those of all atoms, as in aenet-python.");
DEFINE_bool(energy_scaling, true, "Map training energies per atom to [-1, 1], as aenet does.");
DEFINE_string(atomic_energies, "",
              "Atomic reference energies in eV. They are given as Ti=-1604.6,O=-432.5 or as a file. If empty, the "
              "features' own energies are used, else a least-squares fit to the training structures.");

namespace rutile {

namespace {

const bool for_potentials = FlagsAreFor(FlagDomain::kPotentials, __FILE__);

absl::StatusOr<FeatureScalingKind> ParseFeatureScaling() {
  for (const FeatureScalingKind kind :
       {FeatureScalingKind::kNone, FeatureScalingKind::kPooled, FeatureScalingKind::kPerSpecies}) {
    if (FLAGS_feature_scaling == FeatureScalingName(kind)) return kind;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--feature_scaling=", FLAGS_feature_scaling, ": expected pooled, species or none"));
}

}  // namespace

absl::StatusOr<AtomisticTaskOptions> AtomisticTaskOptionsFromFlags() {
  AtomisticTaskOptions options;
  options.hidden.clear();
  std::vector<absl::string_view> layers;
  if (!FLAGS_hidden.empty()) layers = absl::StrSplit(FLAGS_hidden, ',');
  for (const absl::string_view layer : layers) {
    int nodes = 0;
    if (!absl::SimpleAtoi(layer, &nodes)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--hidden=", FLAGS_hidden, ": \"", layer, "\" is no number of nodes; expected a list as 15,15"));
    }
    options.hidden.push_back(nodes);
  }
  ASSIGN_OR_RETURN(options.activation, ParseActivation(FLAGS_activation));
  ASSIGN_OR_RETURN(options.loss, LossOptionsFromFlags());
  ASSIGN_OR_RETURN(options.force_sampling, ForceSamplingOptionsFromFlags(options.loss));
  ASSIGN_OR_RETURN(options.feature_scaling, ParseFeatureScaling());
  options.scale_energies = FLAGS_energy_scaling;
  ASSIGN_OR_RETURN(options.atomic_energies, ParseAtomicEnergies(FLAGS_atomic_energies));
  options.angular = AngularMethodFromFlags();
  options.num_threads = ThreadsFromFlags();
  return options;
}

}  // namespace rutile
