#include "tools/tracin/potentials/potential_flags.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/task/precision.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"

DECLARE_string(test_quantity);
DEFINE_string(test_atom, "all",
              "Structures: number of the atom, from 0 in each structure, or all: each atom is a test.");
DEFINE_string(test_component, "x", "Structures: x, y or z, for --test_quantity=force-component.");
DEFINE_string(
    term_weights, "",
    "Structures: weights of the squared errors of energy per atom, each force component and each stress component, "
    "which are summed over a structure. --mode=curvature prints those of a checkpoint. Empty: those at each "
    "checkpoint. Needed for model files.");

namespace rutile {
namespace {

const bool for_potentials = FlagsAreFor(FlagDomain::kPotentials, __FILE__);

}  // namespace

absl::StatusOr<PotentialTestOptions> TestOptionsFromFlags(const std::string& automatic) {
  PotentialTestOptions options;
  const std::string name = FLAGS_test_quantity != "auto" ? FLAGS_test_quantity : automatic;
  const absl::StatusOr<PotentialQuantity> quantity = ParsePotentialQuantity(name);
  if (!quantity.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--test_quantity=", FLAGS_test_quantity,
                                                   ": expected loss, energy, atom-force or force-component with "
                                                   "structures"));
  }
  options.quantity = *quantity;
  const bool component = *quantity == PotentialQuantity::kForceComponent;
  if (!component) RETURN_IF_ERROR(RefuseFlags("without --test_quantity=force-component", {"test_component"}));
  if (!component && *quantity != PotentialQuantity::kAtomForce) {
    RETURN_IF_ERROR(RefuseFlags("without --test_quantity=atom-force or force-component", {"test_atom"}));
  }
  if (FLAGS_test_atom == "all") {
    options.atom = kAllAtoms;
  } else if (!absl::SimpleAtoi(FLAGS_test_atom, &options.atom) || options.atom < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--test_atom=", FLAGS_test_atom, ": expected a number from 0 on, or all"));
  }
  const size_t axis = std::string("xyz").find(FLAGS_test_component);
  if (FLAGS_test_component.size() != 1 || axis == std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat("--test_component=", FLAGS_test_component, ": expected x, y or z"));
  }
  options.component = static_cast<int>(axis);
  return options;
}

absl::Status CheckPotentialFlags(const TracinFlags& flags, bool has_model) {
  if (!has_model) {
    RETURN_IF_ERROR(RefuseFlags("with --merge", {"term_weights", "train_frames", "damping", "probes"}));
  }
  if (flags.mode == TracinMode::kSelf) {
    RETURN_IF_ERROR(RefuseFlags("with --self", {"test_quantity", "test_atom", "test_component"}));
  }
  if (flags.precision == Precision::kBf16) {
    return absl::InvalidArgumentError(
        "--precision=bf16: of potentials there are passes in fp32 and fp64 alone: leave it out");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<double>> TermWeightsFromFlags() {
  std::vector<double> weights;
  if (FLAGS_term_weights.empty()) return weights;
  for (const absl::string_view text : absl::StrSplit(FLAGS_term_weights, ',')) {
    double weight = -1;
    if (!absl::SimpleAtod(text, &weight) || !(weight >= 0) || weight > 1e300 || weights.size() == 3) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--term_weights=", FLAGS_term_weights,
          ": expected up to three numbers that are not negative: of the squared errors of energy per atom, each force "
          "component and each stress component, separated by commas"));
    }
    weights.push_back(weight);
  }
  if (weights[0] == 0 && *std::max_element(weights.begin(), weights.end()) == 0) {
    return absl::InvalidArgumentError(absl::StrCat("--term_weights=", FLAGS_term_weights, ": nothing counts"));
  }
  return weights;
}

}  // namespace rutile
