#include "tools/common/flags/bucket_flags.h"

#include <gflags/gflags.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "tools/common/run/given_flags.h"

DEFINE_bool(bucket_by_size, false,
            "Make batches of structures of similar size. Each window of --bucket_window batches is sorted by the "
            "number of atoms, and all batches then come in random order. The flag is refused with --noshuffle, "
            "--overfit_batches or lbfgs.");
DEFINE_int64(bucket_window, 50,
             "Number of batches that --bucket_by_size sorts together. A window of 1 changes no batch, and one larger "
             "than the epoch sorts all of it.");

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
