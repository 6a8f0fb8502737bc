// Prevents a run from overwriting its own inputs: a mistyped output name would destroy the data.

#ifndef RUTILE_TOOLS_COMMON_RUN_CHECK_OUTPUTS_H_
#define RUTILE_TOOLS_COMMON_RUN_CHECK_OUTPUTS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace rutile {

// True if a flag of this name takes a file to write: output, csv_output, export_embeddings and so on. Flags of
// directories do not count, because files in them have names of their own.
bool IsOutputFlag(absl::string_view name);

// Checks that no existing file that a flag would write is also read, under this name or another (a link), and that no
// two flags write one file or both standard output. `flags`: names and values; `args`: positional arguments
// (lib/file/input_files.h). Files that the other flags read count as well; their values may be arguments of that kind,
// or lists separated by commas. Pipes and devices are exempt. INVALID_ARGUMENT naming the flags and the file.
absl::Status CheckOutputs(absl::Span<const std::pair<std::string, std::string>> flags,
                          absl::Span<const std::string> args);

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_RUN_CHECK_OUTPUTS_H_
