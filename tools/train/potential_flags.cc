#include "tools/train/potential_flags.h"

#include <gflags/gflags.h>

#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/base/status_macros.h"
#include "tools/common/atomic_energies.h"

DEFINE_string(hidden, "15,15", "Nodes of each hidden layer, comma-separated. Empty: a linear model.");
DEFINE_string(activation, "tanh", "tanh, sigmoid, linear, mtanh, twist (aenet's) or silu, on hidden layers.");
DEFINE_string(loss, "rmse", "rmse (aenet's), mse or huber, of the energy per atom.");
DEFINE_double(huber_delta, 0.01, "Where Huber's loss becomes linear, in eV per atom.");
DEFINE_string(
    feature_scaling, "pooled",
    "Statistics that standardise features: pooled (all atoms), species (those of the central species) or none.");
DEFINE_bool(energy_scaling, true, "Map training energies per atom to [-1, 1], as aenet does.");
DEFINE_string(atomic_energies, "",
              "Atomic reference energies in eV, as Ti=-1604.6,O=-432.5 or a file. Empty: those in the features, else a "
              "least-squares fit to the training structures.");
DEFINE_string(precision, "fp32", "fp32 or fp64: parameters and arithmetic. Losses and sums are fp64.");
DEFINE_validator(precision, [](const char*, const std::string& value) { return value == "fp32" || value == "fp64"; });

namespace rutile {

absl::StatusOr<AtomisticTaskOptions> AtomisticTaskOptionsFromFlags() {
  AtomisticTaskOptions options;
  options.hidden.clear();
  for (const absl::string_view text : absl::StrSplit(FLAGS_hidden, ',', absl::SkipEmpty())) {
    int nodes = 0;
    if (!absl::SimpleAtoi(text, &nodes)) {
      return absl::InvalidArgumentError(absl::StrCat("--hidden=", FLAGS_hidden, ": expected numbers as in 15,15"));
    }
    options.hidden.push_back(nodes);
  }
  ASSIGN_OR_RETURN(options.activation, ParseActivation(FLAGS_activation));
  if (FLAGS_loss == "rmse") {
    options.loss = EnergyLoss::kRmse;
  } else if (FLAGS_loss == "mse") {
    options.loss = EnergyLoss::kMse;
  } else if (FLAGS_loss == "huber") {
    options.loss = EnergyLoss::kHuber;
  } else {
    return absl::InvalidArgumentError(absl::StrCat("--loss=", FLAGS_loss, ": expected rmse, mse or huber"));
  }
  if (options.loss != EnergyLoss::kHuber && !gflags::GetCommandLineFlagInfoOrDie("huber_delta").is_default) {
    return absl::InvalidArgumentError("--huber_delta has no effect without --loss=huber: leave it out");
  }
  if (!(FLAGS_huber_delta > 0)) {
    return absl::InvalidArgumentError(absl::StrCat("--huber_delta=", FLAGS_huber_delta, ": expected a number above 0"));
  }
  options.huber_delta = FLAGS_huber_delta;
  if (FLAGS_feature_scaling == "pooled") {
    options.feature_scaling = FeatureScalingKind::kPooled;
  } else if (FLAGS_feature_scaling == "species") {
    options.feature_scaling = FeatureScalingKind::kPerSpecies;
  } else if (FLAGS_feature_scaling == "none") {
    options.feature_scaling = FeatureScalingKind::kNone;
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("--feature_scaling=", FLAGS_feature_scaling, ": expected pooled, species or none"));
  }
  options.scale_energies = FLAGS_energy_scaling;
  ASSIGN_OR_RETURN(options.atomic_energies, ParseAtomicEnergies(FLAGS_atomic_energies));
  options.precision = FLAGS_precision == "fp64" ? DType::kF64 : DType::kF32;
  return options;
}

}  // namespace rutile
