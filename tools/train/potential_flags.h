// The flags of train that are a potential's own: its network, its loss, its scales.

#ifndef RUTILE_TOOLS_TRAIN_POTENTIAL_FLAGS_H_
#define RUTILE_TOOLS_TRAIN_POTENTIAL_FLAGS_H_

#include "absl/status/statusor.h"
#include "lib/potential/atomistic_task.h"

namespace rutile {

// INVALID_ARGUMENT naming the flag.
absl::StatusOr<AtomisticTaskOptions> AtomisticTaskOptionsFromFlags();

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_POTENTIAL_FLAGS_H_
