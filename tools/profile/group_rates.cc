#include "tools/profile/group_rates.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/status_macros.h"
#include "lib/optimizer/optimizer_options.h"

namespace rutile {
namespace {

std::string ScaleOption(double group_rate, double learning_rate) {
  return absl::StrFormat("lr_scale=%.15g", group_rate / learning_rate);
}

absl::StatusOr<std::string> GroupRelativeToRate(absl::string_view group, absl::string_view run_optimizer,
                                                double learning_rate) {
  const size_t colon = group.find(':');
  if (colon == absl::string_view::npos) return std::string(group);
  std::vector<std::string> options = absl::StrSplit(group.substr(colon + 1), ',');
  absl::string_view optimizer = run_optimizer;
  bool has_rate = false;
  for (std::string& option : options) {
    absl::string_view value = option;
    if (absl::ConsumePrefix(&value, "optimizer=")) optimizer = value;
    if (absl::StartsWith(option, "lr_scale=")) has_rate = true;
    value = option;
    if (!absl::ConsumePrefix(&value, "learning_rate=")) continue;
    double rate = 0;
    if (!absl::SimpleAtod(value, &rate) || !(rate > 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("group \"", group, "\": learning_rate is ", value, ", expected a number above 0"));
    }
    option = ScaleOption(rate, learning_rate);
    has_rate = true;
  }
  if (!has_rate && optimizer != run_optimizer) {
    const absl::StatusOr<OptimizerOptions> defaults = DefaultOptimizerOptions(optimizer);
    if (!defaults.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("group \"", group, "\": ", defaults.status().message()));
    }
    options.push_back(ScaleOption(defaults->learning_rate, learning_rate));
  }
  return absl::StrCat(group.substr(0, colon + 1), absl::StrJoin(options, ","));
}

}  // namespace

absl::StatusOr<std::string> GroupsRelativeToRate(absl::string_view groups, absl::string_view optimizer,
                                                 double learning_rate) {
  std::vector<std::string> relative;
  for (const absl::string_view group : absl::StrSplit(groups, ';')) {
    ASSIGN_OR_RETURN(std::string one, GroupRelativeToRate(group, optimizer, learning_rate));
    relative.push_back(std::move(one));
  }
  return absl::StrJoin(relative, ";");
}

}  // namespace rutile
