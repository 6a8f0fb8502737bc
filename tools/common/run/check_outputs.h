// An output takes the place of what is there. That must not be what the run reads: a mistyped name would cost the data.

#ifndef RUTILE_TOOLS_COMMON_RUN_CHECK_OUTPUTS_H_
#define RUTILE_TOOLS_COMMON_RUN_CHECK_OUTPUTS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace rutile {

// Whether a flag of this name tells where a file is written: output, csv_output, export_embeddings and so on.
// Directories are not meant: outputs have names of their own there.
bool IsOutputFlag(absl::string_view name);

// `flags`: names and values; `args`: what stands beside them. INVALID_ARGUMENT naming flag and file where a file that a
// flag says is to be written is there, under this name or another (a link), and is also one of those that `args` stand
// for (lib/base/input_files.h), or of what the other flags say is read (names may have commas between). Pipes and
// devices are no such files.
absl::Status CheckOutputs(absl::Span<const std::pair<std::string, std::string>> flags,
                          absl::Span<const std::string> args);

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_RUN_CHECK_OUTPUTS_H_
