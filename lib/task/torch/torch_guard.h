// Turns LibTorch's exceptions into statuses.

#ifndef RUTILE_LIB_TASK_TORCH_TORCH_GUARD_H_
#define RUTILE_LIB_TASK_TORCH_TORCH_GUARD_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "c10/util/Exception.h"

namespace rutile {

// Calls work(). Returns INTERNAL with LibTorch's message if it throws (a GPU out of memory), without the message's
// stack trace.
template <typename Work>
absl::Status TorchGuard(const Work& work) {
  try {
    work();
    return absl::OkStatus();
  } catch (const c10::Error& error) {
    return absl::InternalError(absl::StrCat("LibTorch: ", error.what_without_backtrace()));
  }
}

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_TORCH_TORCH_GUARD_H_
