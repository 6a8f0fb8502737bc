// Flags of other TracIn programs (TiePin's run_tracin.py and its siblings) that this tool does not have.

#ifndef RUTILE_TOOLS_TRACIN_FLAGS_OF_OTHER_PROGRAMS_H_
#define RUTILE_TOOLS_TRACIN_FLAGS_OF_OTHER_PROGRAMS_H_

#include "absl/types/span.h"
#include "tools/common/run/run_tool.h"

namespace rutile {

absl::Span<const ForeignFlag> TracinForeignFlags();

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_FLAGS_OF_OTHER_PROGRAMS_H_
