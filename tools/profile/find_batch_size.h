// Implements profile --find_batch_size -- train ...: throughput and memory over the batch size.

#ifndef RUTILE_TOOLS_PROFILE_FIND_BATCH_SIZE_H_
#define RUTILE_TOOLS_PROFILE_FIND_BATCH_SIZE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rutile {

struct FindBatchSizeOptions {
  double budget_s = 120;
  int64_t memory_limit = 0;  // bytes; 0: nine tenths of the free memory
  std::string output_dir;    // for batch-size.svg and batch-size.tsv; empty: none
  bool tsv = false;          // print the table alone
};

// Measures the command over its batch size and prints the results.
absl::Status FindBatchSize(const std::vector<std::string>& command, const FindBatchSizeOptions& options);

// Parses bytes with powers of 1000: "512M", "8G", "8GB", "1000000". INVALID_ARGUMENT naming the flag.
absl::StatusOr<int64_t> ParseBytesFlag(absl::string_view name, absl::string_view text);

}  // namespace rutile

#endif  // RUTILE_TOOLS_PROFILE_FIND_BATCH_SIZE_H_
