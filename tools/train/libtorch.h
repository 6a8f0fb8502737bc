// train is two programs of the same sources, as loading LibTorch takes longer than a small run: `train` links without
// it (without_libtorch.cc) and continues as `train-libtorch` (with_libtorch.cc) where the flags ask for what only
// LibTorch does. Each defines these functions in its own way.

#ifndef RUTILE_TOOLS_TRAIN_LIBTORCH_H_
#define RUTILE_TOOLS_TRAIN_LIBTORCH_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tools/common/run/run_tool.h"

namespace rutile {

// In train: replaces this process by train-libtorch if WhyLibTorch() is not empty, or starts that beside it for the
// check of the first batch (first_batch_process.h), if that can be. Nothing may have been read from standard input or
// written yet. Returns errors of ExecSiblingBinary, CanReadInputsTwice and StartFirstBatchProcess. In train-libtorch:
// returns OK.
absl::Status ContinueWithLibTorch(const ToolRun& run);

// Does what ContinueWithLibTorch does, where the data need LibTorch and the flags do not, which `why` says: "energies
// from features on a GPU". In train it is INVALID_ARGUMENT if one of the inputs is standard input, which has been read
// by then.
absl::Status NeedLibTorch(const ToolRun& run, absl::Span<const std::string> inputs, absl::string_view why);

// Sets how many threads LibTorch's operations use, if they can be reached.
void SetLibTorchThreads(int num_threads);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_LIBTORCH_H_
