// --shard=i/n, the same in every tool.

#ifndef RUTILE_TOOLS_COMMON_FLAGS_PARSE_SHARD_H_
#define RUTILE_TOOLS_COMMON_FLAGS_PARSE_SHARD_H_

#include <string>

#include "absl/status/status.h"

namespace rutile {

// "3/16": 1 <= shard <= num_shards. INVALID_ARGUMENT naming the flag.
absl::Status ParseShard(const std::string& text, int* shard, int* num_shards);

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_FLAGS_PARSE_SHARD_H_
