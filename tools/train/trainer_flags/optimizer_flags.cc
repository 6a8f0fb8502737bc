#include "tools/train/trainer_flags/optimizer_flags.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "tools/common/flags/setting_flags.h"
#include "tools/common/run/given_flags.h"

namespace rutile {
namespace {

const SettingFlags<OptimizerOptions>& Flags() {
  static const auto* flags = new SettingFlags<OptimizerOptions>(OptimizerSettings(), __FILE__);
  return *flags;
}

const SettingFlags<ParameterGroupOptions>& GroupFlags() {
  static const auto* flags = new SettingFlags<ParameterGroupOptions>(ParameterGroupSettings(), __FILE__);
  return *flags;
}

const bool registered = Flags().Register() && GroupFlags().Register();

}  // namespace

absl::StatusOr<OptimizerOptions> OptimizerOptionsFromFlags(double adam_learning_rate) {
  OptimizerOptions options;
  RETURN_IF_ERROR(Flags().CopyTo("optimizer", &options));
  options = DefaultOptimizerOptions(options.kind);
  if (options.kind == OptimizerKind::kAdam || options.kind == OptimizerKind::kAdamW) {
    options.learning_rate = adam_learning_rate;
  }
  RETURN_IF_ERROR(Flags().CopyTo(&options));
  const std::string chosen = absl::StrCat("--optimizer=", kOptimizerNames.Name(options.kind));
  if (FlagGiven("alpha") && options.kind != OptimizerKind::kRmsprop) {
    return absl::InvalidArgumentError(
        absl::StrCat("--alpha has no effect with ", chosen,
                     ": it is rmsprop's; aenet's alpha, the weight of forces, is --force_weight"));
  }
  RETURN_IF_ERROR(Flags().RefuseUnused(options));
  if (options.kind == OptimizerKind::kLbfgs) {
    const std::string why = absl::StrCat("with ", chosen);
    RETURN_IF_ERROR(GroupFlags().RefuseAll(why));
  }
  RETURN_IF_ERROR(CheckOptimizerOptions(options));
  return options;
}

absl::StatusOr<ParameterGroupOptions> ParameterGroupOptionsFromFlags(const OptimizerOptions& run) {
  ParameterGroupOptions options;
  RETURN_IF_ERROR(GroupFlags().CopyTo(&options));
  ASSIGN_OR_RETURN(options.groups, ParseParameterGroups(options.text, run));
  RETURN_IF_ERROR(CheckParameterGroupOptions(options, run));
  return options;
}

}  // namespace rutile
