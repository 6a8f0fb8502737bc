#include "tools/common/flags/bucket_flags.h"

#include <gflags/gflags.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "tools/common/run/given_flags.h"

DEFINE_bool(bucket_by_size, false,
            "Batches of structures of like size: sorted within windows of --bucket_window batches, which then come in "
            "random order.");
DEFINE_int64(bucket_window, 50,
             "Batches that are sorted together (with --bucket_by_size). More: more alike, less by chance.");

namespace rutile {

absl::StatusOr<int64_t> BucketWindowFromFlags() {
  if (!FLAGS_bucket_by_size) {
    RETURN_IF_ERROR(RefuseFlags("without --bucket_by_size", {"bucket_window"}));
    return 0;
  }
  if (FLAGS_bucket_window >= 1) return FLAGS_bucket_window;
  return absl::InvalidArgumentError(
      absl::StrCat("--bucket_window=", FLAGS_bucket_window, ": expected 1 or more batches"));
}

}  // namespace rutile
