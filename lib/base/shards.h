// Files that are parts of one set, by their names: "x-00003-of-00016.safetensors" is the third of sixteen.

#ifndef RUTILE_LIB_BASE_SHARDS_H_
#define RUTILE_LIB_BASE_SHARDS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace rutile {

// "run/x.safetensors", 3, 16 -> "run/x-00003-of-00016.safetensors". Shards count from 1, in five digits or as many as
// it takes. "-" has no shards: it stays.
std::string ShardName(absl::string_view path, int shard, int num_shards);

struct Shard {
  std::string set;  // the name without the shard: "run/x.safetensors"
  int shard = 0;    // 1 .. num_shards
  int num_shards = 0;
};

// What ShardName made; nothing for other names.
std::optional<Shard> ParseShardName(absl::string_view path);

// How an input came to be among the inputs.
enum class InputOrigin {
  kNamed,   // on the command line, by its own name
  kFound,   // in a directory, or by a glob
  kListed,  // in a list:FILE
};

struct InputFile {
  std::string path;
  InputOrigin origin = InputOrigin::kNamed;
};

// Whether each set of shards is whole. INVALID_ARGUMENT naming the first shard that is missing, or both sets when one
// name is there in sets of different numbers (one is left from an earlier run). A set is looked at when a shard of it
// was found, or when two of it were named: a shard named alone is meant alone, as in a job for each shard, and what is
// listed was chosen.
absl::Status CheckShards(absl::Span<const InputFile> files);

}  // namespace rutile

#endif  // RUTILE_LIB_BASE_SHARDS_H_
