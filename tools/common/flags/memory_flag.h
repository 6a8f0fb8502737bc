// --mapped_memory, of tools whose arrays may be larger than memory.

#ifndef RUTILE_TOOLS_COMMON_FLAGS_MEMORY_FLAG_H_
#define RUTILE_TOOLS_COMMON_FLAGS_MEMORY_FLAG_H_

#include <string>

#include "absl/status/statusor.h"

namespace rutile {

// Does what --mapped_memory says, and returns a message about it, or "". Call it before large arrays are made.
// INVALID_ARGUMENT: the flag names a folder that takes no files, or one in memory.
absl::StatusOr<std::string> MapMemoryFromFlag();

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_FLAGS_MEMORY_FLAG_H_
