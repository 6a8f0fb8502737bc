// Joins a result that was computed in parts, one file each: checks that all parts are there, and orders them.
//
// The metadata "shard" of a part says which one it is, for example "2/4"; a file without that key is the whole result.
// The key "inputs" (provenance.h) says what a part was made from.

#ifndef RUTILE_LIB_TENSORFILE_PART_SET_H_
#define RUTILE_LIB_TENSORFILE_PART_SET_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// Returns the value of the key "shard", for example "2/4".
std::string PartText(int shard, int num_shards);

// Returns the files' indices in the order of their shard numbers. INVALID_ARGUMENT, naming files: a missing or repeated
// shard, shards of different sets, a whole result beside other files, text that is no shard, or a part that differs
// from the first in its inputs (by SHA-256, wherever they were) or in one of the metadata keys `same` (a missing key
// counts as "").
absl::StatusOr<std::vector<size_t>> OrderParts(absl::Span<const TensorFile> files, absl::Span<const std::string> same);

// Checks that the file at `path` (by content) was among the inputs of `file`. Otherwise INVALID_ARGUMENT: "FILE: was
// not made from the model PATH". what: "model". Also returns the errors of Sha256HexOfFile.
absl::Status CheckMadeFrom(const TensorFile& file, absl::string_view what, const std::string& path);

}  // namespace rutile

#endif  // RUTILE_LIB_TENSORFILE_PART_SET_H_
