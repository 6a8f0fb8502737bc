// One hash for all the inputs of a run: kept in its checkpoints, asked for by who uses them on the same data.

#ifndef RUTILE_TOOLS_COMMON_FLAGS_DATA_SHA256_H_
#define RUTILE_TOOLS_COMMON_FLAGS_DATA_SHA256_H_

#include <string>

#include "absl/types/span.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// What stands for the content of the inputs, in their order, from the hashes in `metadata` (OutputMetadata's); "" when
// one of them was a stream.
std::string DataSha256(const Metadata& metadata, absl::Span<const std::string> inputs);

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_FLAGS_DATA_SHA256_H_
