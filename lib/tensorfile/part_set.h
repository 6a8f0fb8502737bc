// A result that was computed in parts, each part a file of its own: whether all of it is there, and in which order.
//
// A part says in its metadata which one it is, "shard" "2/4"; a file without that key is the whole result. What a part
// was made from is in "inputs" (provenance.h).

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

// "2/4", for the key "shard".
std::string PartText(int shard, int num_shards);

// The files' indices, by the numbers of their shards. INVALID_ARGUMENT naming files: a shard that is missing or there
// twice, shards of different sets, a whole result beside others, text that is no shard, inputs (by their SHA-256,
// wherever they lay) or one of the metadata keys `same` (a key that is missing is "") that are not those of the first.
absl::StatusOr<std::vector<size_t>> OrderParts(absl::Span<const TensorFile> files, absl::Span<const std::string> same);

// INVALID_ARGUMENT unless a file with the content of the one at `path` was among the inputs: "FILE: was not made from
// the model PATH". what: "model". Also the errors of Sha256HexOfFile.
absl::Status CheckMadeFrom(const TensorFile& file, absl::string_view what, const std::string& path);

}  // namespace rutile

#endif  // RUTILE_LIB_TENSORFILE_PART_SET_H_
