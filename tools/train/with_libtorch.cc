// What train-libtorch adds to the sources of train: nothing is missing in it. Users do not call it: train does
// (libtorch.h).

#include <ATen/Parallel.h>

#include "absl/status/status.h"
#include "tools/train/first_batch_process.h"
#include "tools/train/libtorch.h"

namespace rutile {

absl::Status ContinueWithLibTorch(const ToolRun&) {
  if (OnlyChecksFirstBatch()) IgnoreSignals();
  return absl::OkStatus();
}

absl::Status NeedLibTorch(const ToolRun&, absl::Span<const std::string>, absl::string_view) { return absl::OkStatus(); }

void SetLibTorchThreads(int num_threads) { at::set_num_threads(num_threads); }

}  // namespace rutile
