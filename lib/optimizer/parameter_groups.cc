#include "lib/optimizer/parameter_groups.h"

#include <fnmatch.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "lib/base/settings.h"
#include "lib/base/status_macros.h"

namespace rutile {
namespace {

using GivenOption = std::pair<absl::string_view, absl::string_view>;

absl::StatusOr<std::vector<GivenOption>> ParseSettings(absl::string_view text) {
  std::vector<GivenOption> settings;
  std::set<absl::string_view> seen;
  for (const absl::string_view item : absl::StrSplit(text, ',')) {
    const GivenOption setting = absl::StrSplit(item, absl::MaxSplits('=', 1));
    if (setting.first.empty() || setting.second.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("\"", item, "\" is not of the form OPTION=VALUE"));
    }
    if (!seen.insert(setting.first).second) {
      return absl::InvalidArgumentError(absl::StrCat(setting.first, " is given twice"));
    }
    settings.push_back(setting);
  }
  if (seen.count("learning_rate") > 0 && seen.count("lr_scale") > 0) {
    return absl::InvalidArgumentError("learning_rate and lr_scale exclude each other: give one of them");
  }
  return settings;
}

absl::StatusOr<OptimizerOptions> GroupOptimizer(absl::string_view text, const OptimizerOptions& run) {
  ASSIGN_OR_RETURN(const std::vector<GivenOption> settings, ParseSettings(text));
  OptimizerOptions options = run;
  for (const auto& [option, value] : settings) {
    if (option != "optimizer") continue;
    ASSIGN_OR_RETURN(options, DefaultOptimizerOptions(value));
    if (options.kind == run.kind) options = run;
  }
  for (const auto& [option, value] : settings) {
    if (option == "optimizer") continue;
    if (option == "lr_scale") {
      double scale = 0;
      if (!absl::SimpleAtod(value, &scale) || !(scale > 0)) {
        return absl::InvalidArgumentError(absl::StrCat("lr_scale is ", value, ", expected a number above 0"));
      }
      options.learning_rate = scale * run.learning_rate;
    } else {
      RETURN_IF_ERROR(SetOptimizerOption(option, value, &options));
    }
  }
  return options;
}

absl::StatusOr<ParameterGroup> ParseGroup(absl::string_view text, const OptimizerOptions& run) {
  ParameterGroup group;
  group.optimizer = run;
  const size_t colon = text.find(':');
  group.glob = std::string(text.substr(0, colon));
  if (group.glob.empty()) return absl::InvalidArgumentError("expected GLOB:OPTION=VALUE,... or GLOB");
  if (colon != absl::string_view::npos) {
    ASSIGN_OR_RETURN(group.optimizer, GroupOptimizer(text.substr(colon + 1), run));
  }
  RETURN_IF_ERROR(CheckOptimizerOptions(group.optimizer));
  return group;
}

bool Fits(const ParameterGroup& group, const ParameterSlice& slice) {
  return fnmatch(group.glob.c_str(), slice.name.c_str(), 0) == 0;
}

// What moves all parameters in every step by its own rule.
absl::Status CheckLazy(OptimizerKind kind) {
  if (kind != OptimizerKind::kLbfgs && kind != OptimizerKind::kScheduleFreeAdamW) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("lazy_rows does not go with ", kOptimizerNames.Name(kind),
                                                 kind == OptimizerKind::kLbfgs
                                                     ? ", whose line search moves all parameters at once"
                                                     : ", whose average takes a share of every row in every step",
                                                 "; use adam"));
}

}  // namespace

absl::StatusOr<std::vector<ParameterGroup>> ParseParameterGroups(absl::string_view text, const OptimizerOptions& run) {
  std::vector<ParameterGroup> groups;
  if (text.empty()) return groups;
  for (const absl::string_view part : absl::StrSplit(text, ';')) {
    absl::StatusOr<ParameterGroup> group = ParseGroup(part, run);
    if (!group.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("group \"", part, "\": ", group.status().message()));
    }
    groups.push_back(*std::move(group));
  }
  return groups;
}

absl::Span<const Setting<ParameterGroupOptions>> ParameterGroupSettings() {
  using O = ParameterGroupOptions;
  static constexpr RunPart kMoments = RunPart::kOptimizer;
  // The record holds only what is not the default: runs of versions without groups can be resumed.
  static constexpr Setting<O> kSettings[] = {
      // The record holds the groups, not the text.
      Setting<O>(
          "parameter_groups", &O::text,
          "Groups of parameters with optimizer settings of their own. Each is GLOB:OPTION=VALUE,..., groups are "
          "separated by \";\", and the first glob that matches a parameter's name counts. Options are optimizer, "
          "learning_rate or lr_scale (times --learning_rate), weight_decay and the other flags of the group's "
          "optimizer. A glob without a match is an error that lists all names; lbfgs has no groups.")
          .RecordedIf([](const O&) { return false; })
          .Resetting(kMoments),
      Setting<O>(
          "alternate_groups", &O::alternate_steps,
          "Number of steps after which the next group takes its turn. Groups move in the order of --parameter_groups, "
          "the parameters without a group last, and the others are frozen. With 0, all move in each step.")
          .In(AtLeast(0))
          .RecordedIf([](const O& options) { return options.alternate_steps > 0; })
          .Resetting(kMoments),
      Setting<O>("weight_decay_biases", &O::decay_biases,
                 "Apply weight decay to biases and norms, too. If false, parameters that are named *.bias or are no "
                 "matrix do not decay; without weight decay the flag is refused.")
          .RecordedIf([](const O& options) { return !options.decay_biases; })
          .Resetting(kMoments),
      Setting<O>("lazy_rows", &O::lazy_rows,
                 "Leave rows of embedding tables without a gradient as they are. Their averages and weight decay wait, "
                 "too, as with PyTorch's SparseAdam; otherwise such rows go on moving, as with torch.optim.Adam. The "
                 "flag is refused with schedule-free-adamw.")
          .RecordedIf([](const O& options) { return options.lazy_rows; }),
  };
  return kSettings;
}

absl::Status CheckParameterGroupOptions(const ParameterGroupOptions& options, const OptimizerOptions& run) {
  bool decays = run.weight_decay > 0, differs = false;
  if (options.lazy_rows) RETURN_IF_ERROR(CheckLazy(run.kind));
  for (const ParameterGroup& group : options.groups) {
    if (options.lazy_rows) RETURN_IF_ERROR(CheckLazy(group.optimizer.kind));
    const absl::Status status = CheckOptimizerOptions(group.optimizer);
    if (!status.ok()) return absl::InvalidArgumentError(absl::StrCat("group ", group.glob, ": ", status.message()));
    if (group.optimizer.kind == OptimizerKind::kLbfgs || run.kind == OptimizerKind::kLbfgs) {
      return absl::InvalidArgumentError(
          "parameter groups do not go with lbfgs, whose line search moves all parameters at once; use adam");
    }
    decays = decays || group.optimizer.weight_decay > 0;
    differs = differs || !SameSettings(OptimizerSettings(), group.optimizer, run);
  }
  RETURN_IF_ERROR(CheckRanges(ParameterGroupSettings(), options));
  if (options.alternate_steps > 0 && options.groups.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("alternate_groups is ", options.alternate_steps,
                                                   ", but there are no parameter groups to take turns"));
  }
  if (!options.groups.empty() && !differs && options.alternate_steps == 0) {
    return absl::InvalidArgumentError(
        "the parameter groups are trained as all others are: give an option that differs, or let them take turns");
  }
  if (!options.decay_biases && !decays) {
    return absl::InvalidArgumentError("weight_decay_biases is false, but nothing decays: give a weight_decay above 0");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int>> AssignGroups(const ParameterGroupOptions& options,
                                              absl::Span<const ParameterSlice> slices) {
  const int num_groups = static_cast<int>(options.groups.size());
  std::vector<int> assigned(slices.size(), num_groups), count(num_groups + 1);
  for (size_t s = 0; s < slices.size(); ++s) {
    for (int g = num_groups - 1; g >= 0; --g) {
      if (Fits(options.groups[g], slices[s])) assigned[s] = g;
    }
    ++count[assigned[s]];
  }
  const auto append = [](std::string* out, const ParameterSlice& slice) { out->append(slice.name); };
  for (int g = 0; g < num_groups; ++g) {
    if (count[g] > 0) continue;
    const ParameterGroup& group = options.groups[g];
    const bool taken = std::any_of(slices.begin(), slices.end(), [&](const auto& slice) { return Fits(group, slice); });
    return absl::InvalidArgumentError(
        absl::StrCat("parameter group ", group.glob,
                     taken ? " fits only parameters of groups before it; there are " : " fits no parameter; there are ",
                     absl::StrJoin(slices, ", ", append)));
  }
  if (options.alternate_steps > 0 && count[0] == static_cast<int>(slices.size())) {
    return absl::InvalidArgumentError(absl::StrCat("parameter group ", options.groups[0].glob,
                                                   " fits all parameters: there is no other to take turns"));
  }
  return assigned;
}

bool IsBiasOrNorm(const ParameterSlice& slice) {
  return slice.shape.size() < 2 || slice.name == "bias" || absl::EndsWith(slice.name, ".bias");
}

}  // namespace rutile
