// Flags that other trainers of potentials and embeddings have, and what to write here.

#ifndef RUTILE_TOOLS_TRAIN_FLAGS_FLAGS_OF_OTHER_PROGRAMS_H_
#define RUTILE_TOOLS_TRAIN_FLAGS_FLAGS_OF_OTHER_PROGRAMS_H_

#include "absl/types/span.h"
#include "tools/common/run/run_tool.h"

namespace rutile {

// Returns flags of aenet-python, TiePin, PyKEEN, NequIP and Lightning, and others that people are used to.
absl::Span<const ForeignFlag> TrainForeignFlags();

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_FLAGS_FLAGS_OF_OTHER_PROGRAMS_H_
