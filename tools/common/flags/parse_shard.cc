#include "tools/common/flags/parse_shard.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace rutile {

absl::Status ParseShard(const std::string& text, int* shard, int* num_shards) {
  const std::vector<std::string> parts = absl::StrSplit(text, '/');
  if (parts.size() == 2 && absl::SimpleAtoi(parts[0], shard) && absl::SimpleAtoi(parts[1], num_shards) && *shard >= 1 &&
      *shard <= *num_shards && *num_shards <= 99999) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("--shard=", text, ": expected i/n with 1 <= i <= n, as in 3/16"));
}

}  // namespace rutile
