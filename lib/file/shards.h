// Names of files that are parts (shards) of one set: "x-00003-of-00016.safetensors" is the third of sixteen.

#ifndef RUTILE_LIB_FILE_SHARDS_H_
#define RUTILE_LIB_FILE_SHARDS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace rutile {

// Returns the name of a shard: "run/x.safetensors", 3, 16 -> "run/x-00003-of-00016.safetensors". Shards count from 1,
// in at least five digits. "-" has no shards and is returned unchanged.
std::string ShardName(absl::string_view path, int shard, int num_shards);

// The parts of a shard's name.
struct Shard {
  std::string set;  // the name without the shard: "run/x.safetensors"
  int shard = 0;    // 1 .. num_shards
  int num_shards = 0;
};

// Parses a name made by ShardName; nullopt for other names.
std::optional<Shard> ParseShardName(absl::string_view path);

// How an input came to be among the inputs.
enum class InputOrigin {
  kNamed,   // on the command line, by its own name
  kFound,   // in a directory, or by a glob
  kListed,  // in a list:FILE
};

// An input and where it comes from.
struct InputFile {
  std::string path;
  InputOrigin origin = InputOrigin::kNamed;
};

// Checks that each set of shards is complete. Fails with INVALID_ARGUMENT naming the first missing shard, or naming
// both sets if shards of one name belong to sets of different sizes (one is left from an earlier run). A set is checked
// if a shard of it was found, or if two of it were named: a single named shard is meant alone, as in one job per shard,
// and a list is a deliberate choice.
absl::Status CheckShards(absl::Span<const InputFile> files);

}  // namespace rutile

#endif  // RUTILE_LIB_FILE_SHARDS_H_
