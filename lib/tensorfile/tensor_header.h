// The JSON header of a safetensors file, apart from the data that it describes.
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

// The format's limit, in bytes: a length above it is no safetensors file.
inline constexpr int64_t kMaxTensorHeader = 100'000'000;

struct TensorEntry {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  int64_t begin = 0, end = 0;  // in the data that follows the header
};

struct TensorHeader {
  Metadata metadata;
  std::vector<TensorEntry> entries;
};

// The header with each name once, known types, offsets in order of size and each entry's bytes equal to its shape's
// (products checked for overflow). Whether entries fit together and into the file is for the reader to see. Messages
// name tensor and rule, not the file.
absl::StatusOr<TensorHeader> ParseTensorHeader(absl::string_view json);

// What comes before the data: length, JSON, and spaces so that the data starts at a multiple of 64. Fails when a name
// or a text is not UTF-8, a name is reserved, or the header would be too long.
absl::StatusOr<std::string> FormatTensorHeader(const TensorHeader& header);

// Gives the entries the order and the offsets that files have: the widest type first, so that every tensor is aligned
// without filler, and the order given among those of one width.
void LayOutTensors(std::vector<TensorEntry>* entries);

// "F32 [10,9]".
std::string DescribeShape(DType dtype, const std::vector<int64_t>& shape);

// ... with quotes, escaped: "a\"b" for a"b.
std::string JsonQuote(absl::string_view text);

// Well-formed as RFC 3629 says: no overlong forms, no surrogates, nothing above U+10FFFF.
bool IsUtf8(absl::string_view text);

}  // namespace rutile

#endif  // RUTILE_LIB_TENSORFILE_TENSOR_HEADER_H_
