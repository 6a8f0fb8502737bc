#include "tools/common/flags/output_flags.h"

#include <gflags/gflags.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/file/shards.h"

DEFINE_string(output, "", "Output file, *.safetensors. A dash (-) means standard output.");
DEFINE_bool(progress, true, "Show progress if standard error is a terminal.");

namespace rutile {

absl::StatusOr<std::string> OutputFromFlags(int shard, int num_shards) {
  if (FLAGS_output.empty()) return absl::InvalidArgumentError("needs --output: the file to write, or - for a pipe");
  if (num_shards == 1 || FLAGS_output == "-") return FLAGS_output;
  return ShardName(FLAGS_output, shard, num_shards);
}

bool ProgressFromFlags() { return FLAGS_progress; }

}  // namespace rutile
