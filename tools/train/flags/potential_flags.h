// The flags of train that are a potential's own: its network, its loss, its scales.

#ifndef RUTILE_TOOLS_TRAIN_FLAGS_POTENTIAL_FLAGS_H_
#define RUTILE_TOOLS_TRAIN_FLAGS_POTENTIAL_FLAGS_H_

#include "absl/status/statusor.h"
#include "lib/potential/model/task_options.h"
#include "tools/train/flags/preset_flags.h"

namespace rutile {

// All but the precision (precision_flags.h) and what data_flags.h chooses. INVALID_ARGUMENT naming the flag.
absl::StatusOr<AtomisticTaskOptions> AtomisticTaskOptionsFromFlags(Preset preset = Preset::kDefault);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_FLAGS_POTENTIAL_FLAGS_H_
