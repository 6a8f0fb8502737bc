// The flags of train that are a potential's own: its network, its loss, its scales.

#ifndef RUTILE_TOOLS_TRAIN_POTENTIAL_FLAGS_H_
#define RUTILE_TOOLS_TRAIN_POTENTIAL_FLAGS_H_

#include "absl/status/statusor.h"
#include "lib/potential/atomic_data.h"
#include "lib/potential/task_options.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// All but the precision and what data_flags.h chooses. INVALID_ARGUMENT naming the flag.
absl::StatusOr<AtomisticTaskOptions> AtomisticTaskOptionsFromFlags();

// From --precision.
DType PrecisionFromFlags(const AtomicData& data);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_POTENTIAL_FLAGS_H_
