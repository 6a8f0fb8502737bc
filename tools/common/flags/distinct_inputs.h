// That no input is given twice: of the same examples some would train and others validate, and errors would be those of
// what was learned.

#ifndef RUTILE_TOOLS_COMMON_FLAGS_DISTINCT_INPUTS_H_
#define RUTILE_TOOLS_COMMON_FLAGS_DISTINCT_INPUTS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

constexpr char kTrainedAndValidated[] = "what is trained on would also be validated";

// INVALID_ARGUMENT naming two inputs that are one file, by device and inode: links, too. Pipes and what is not there
// are for others to judge. why: what is wrong with it.
absl::Status CheckDistinctFiles(absl::Span<const std::string> inputs, absl::string_view why = kTrainedAndValidated);

// A warning that names the first two inputs of the same SHA-256 in `metadata` (OutputMetadata's), and says how many
// there are; "" where there are none. No error: among thousands of files of one structure two may be alike. Streams
// have no SHA-256.
std::string SameContents(const Metadata& metadata, absl::Span<const std::string> inputs);

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_FLAGS_DISTINCT_INPUTS_H_
