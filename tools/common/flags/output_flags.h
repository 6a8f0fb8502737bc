// --output and --progress of the tools that write one file.

#ifndef RUTILE_TOOLS_COMMON_FLAGS_OUTPUT_FLAGS_H_
#define RUTILE_TOOLS_COMMON_FLAGS_OUTPUT_FLAGS_H_

#include <string>

#include "absl/status/statusor.h"

namespace rutile {

// --output, with the shard in its name if there are several (ShardName of lib/file/shards.h). Shards count from 1.
// INVALID_ARGUMENT without --output.
absl::StatusOr<std::string> OutputFromFlags(int shard = 1, int num_shards = 1);

// --progress.
bool ProgressFromFlags();

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_FLAGS_OUTPUT_FLAGS_H_
