// Learning rates of parameter groups as multiples of the run's, so that a trial can change the run's rate alone.

#ifndef RUTILE_TOOLS_PROFILE_GROUP_RATES_H_
#define RUTILE_TOOLS_PROFILE_GROUP_RATES_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rutile {

// Returns the value of --parameter_groups with lr_scale in place of each group's learning_rate, and of the default rate
// of a group that names another optimizer than the run's and no rate: with a run of that optimizer and learning rate
// (above 0) it trains as `groups` do. Returns `groups` itself if all rates follow the run's already. What train would
// refuse stays as it is. INVALID_ARGUMENT: a learning rate that is no number above 0, an optimizer that does not exist.
absl::StatusOr<std::string> GroupsRelativeToRate(absl::string_view groups, absl::string_view optimizer,
                                                 double learning_rate);

}  // namespace rutile

#endif  // RUTILE_TOOLS_PROFILE_GROUP_RATES_H_
