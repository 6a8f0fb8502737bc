// Parameters in groups, each with an optimizer of its own: which slices belong together, and what is said of them.

#ifndef RUTILE_LIB_OPTIMIZER_PARAMETER_GROUPS_H_
#define RUTILE_LIB_OPTIMIZER_PARAMETER_GROUPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/settings.h"
#include "lib/optimizer/optimizer_options.h"
#include "lib/task/parameter_slice.h"

namespace rutile {

struct ParameterGroup {
  std::string glob;  // of names of slices: "network.Ti.*"
  OptimizerOptions optimizer;
};

struct ParameterGroupOptions {
  // A slice belongs to the first group whose glob it fits, else to the default group, which has the run's optimizer.
  std::vector<ParameterGroup> groups;
  int64_t alternate_steps = 0;  // groups take turns of so many steps (the default group last); 0: all move in each step
  bool decay_biases = true;     // false: weight decay leaves biases and norms alone, in all groups
  bool lazy_rows = false;       // rows of tables move only with a gradient: lazy_rows.h
  std::string text;             // that ParseParameterGroups made the groups of, if they come from a flag
};

// The first row is that of the groups, as text: what ParseParameterGroups makes of it depends on the run's optimizer.
absl::Span<const Setting<ParameterGroupOptions>> ParameterGroupSettings();

// "network.Ti.*:lr_scale=0.1,weight_decay=0;network.O.*:optimizer=sgd,learning_rate=0.01": GLOB:OPTION=VALUE,... of
// each group, those separated by ";". Options are those of SetOptimizerOption, optimizer=NAME, and lr_scale, which
// multiplies the run's learning rate. What is not said is as in `run`, or the default of an optimizer that the group
// names. A GLOB alone has the run's optimizer, with moments of its own. INVALID_ARGUMENT quoting the group.
absl::StatusOr<std::vector<ParameterGroup>> ParseParameterGroups(absl::string_view text, const OptimizerOptions& run);

// INVALID_ARGUMENT: a group's option out of range, L-BFGS among groups, turns of a negative number of steps or without
// groups, biases that are not to decay where nothing decays, groups that change nothing, lazy rows of an optimizer that
// has no such form.
absl::Status CheckParameterGroupOptions(const ParameterGroupOptions& options, const OptimizerOptions& run);

// Of each slice its group's index; groups.size() is the default group. INVALID_ARGUMENT naming a glob that fits no
// slice (or none that an earlier one has left), and the slices; one group that has them all where groups take turns.
absl::StatusOr<std::vector<int>> AssignGroups(const ParameterGroupOptions& options,
                                              absl::Span<const ParameterSlice> slices);

// A bias or the scale of a norm: its name ends in ".bias", or it is no matrix.
bool IsBiasOrNorm(const ParameterSlice& slice);

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_PARAMETER_GROUPS_H_
