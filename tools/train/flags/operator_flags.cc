#include "tools/train/flags/operator_flags.h"

#include <gflags/gflags.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/profile/operators.h"
#include "lib/profile/record.h"
#include "lib/trace/scope.h"
#include "tools/common/run/profile_run.h"

DEFINE_bool(operators, false,
            "List the slowest operators of LibTorch, too, with --timing. Native kernels, the default, run hardly any. "
            "The flag is refused if nothing is profiled.");

namespace rutile {

absl::Status StartOperatorsFromFlags() {
  if (!FLAGS_operators) return absl::OkStatus();
  if (!ProfilingIsOn()) {
    return absl::InvalidArgumentError(absl::StrCat("--operators has no effect without --timing (or ",
                                                   kProfileDirectoryVariable, " in the environment)"));
  }
  constexpr size_t kMost = 30;
  StartOperators();
  SetProfileOperators([] { return StopOperators(kMost); });
  return absl::OkStatus();
}

}  // namespace rutile
