// Parses and formats the JSON header of a safetensors file, apart from the data that it describes:
//
//   {"__metadata__":{"kind":"potential/1"},"weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}

#ifndef RUTILE_LIB_TENSORFILE_TENSOR_HEADER_H_
#define RUTILE_LIB_TENSORFILE_TENSOR_HEADER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// The format's limit of the header's length in bytes; a longer header is no safetensors file.
inline constexpr int64_t kMaxTensorHeader = 100'000'000;

// One tensor in a header.
struct TensorEntry {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  int64_t begin = 0, end = 0;  // byte offsets in the data that follows the header
};

// A parsed header.
struct TensorHeader {
  Metadata metadata;
  std::vector<TensorEntry> entries;
};

// Parses a header. Checks that each name comes once, types are known, begin <= end, and each entry has as many bytes as
// its shape needs (products are checked for overflow). The reader must check that entries fit together and into the
// file. Messages name tensor and rule, not the file.
absl::StatusOr<TensorHeader> ParseTensorHeader(absl::string_view json);

// Returns the bytes before the data: length, JSON, and spaces so that the data start at a multiple of 64. Fails if a
// name or text is not UTF-8, a name is reserved, or the header would be too long.
absl::StatusOr<std::string> FormatTensorHeader(const TensorHeader& header);

// Sets the order and offsets of the entries: the widest type first, so that every tensor is aligned without filler, and
// in the given order within one width.
void LayOutTensors(std::vector<TensorEntry>* entries);

// Formats type and shape: "F32 [10,9]".
std::string DescribeShape(DType dtype, const std::vector<int64_t>& shape);

// Returns the text in quotes, escaped: "a\"b" for a"b.
std::string JsonQuote(absl::string_view text);

// True if the text is well-formed UTF-8 by RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
bool IsUtf8(absl::string_view text);

}  // namespace rutile

#endif  // RUTILE_LIB_TENSORFILE_TENSOR_HEADER_H_
