// --operators: LibTorch's operators in the profile of a run.

#ifndef RUTILE_TOOLS_TRAIN_FLAGS_OPERATOR_FLAGS_H_
#define RUTILE_TOOLS_TRAIN_FLAGS_OPERATOR_FLAGS_H_

#include "absl/status/status.h"

namespace rutile {

// Times operators from now on if --operators. INVALID_ARGUMENT when the run is not profiled.
absl::Status StartOperatorsFromFlags();

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_FLAGS_OPERATOR_FLAGS_H_
