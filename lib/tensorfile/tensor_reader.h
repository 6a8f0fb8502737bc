// Reads safetensors files, and trusts nothing in them.
//
// Format: huggingface/safetensors, README "Format": 8 bytes little-endian header length, a JSON header, raw data.
//
//   ASSIGN_OR_RETURN(const TensorFile file, ReadTensorFile("features.safetensors"));
//   RETURN_IF_ERROR(CheckFileKind("atomistic.features/1", file));
//   const absl::Span<const float> feature = file.tensors.At("feature").values<float>();

#ifndef RUTILE_LIB_TENSORFILE_TENSOR_READER_H_
#define RUTILE_LIB_TENSORFILE_TENSOR_READER_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// What to check while reading.
struct TensorReadOptions {
  bool verify_checksums = true;  // reads every byte; a tensor without a recorded CRC32C passes
};

// Reads a file; "-" is standard input. Tensors are views of the mapped file (a tensor that is not aligned to its
// element size is copied). Errors start with the path and name the tensor and the rule: not a tensor file, truncated,
// header too long or nested too deep, a name twice, an unknown dtype, a shape whose size overflows, offsets outside the
// file, overlaps, holes, trailing bytes, a BOOL that is neither 0 nor 1 (these tensors are scanned), a wrong checksum.
// A stream ("-", a pipe) is read once and kept in memory, so that it may be read again by its name.
absl::StatusOr<TensorFile> ReadTensorFile(absl::string_view path, const TensorReadOptions& options = {});

// Opens a file for its kind and metadata; the bytes of its tensors are not verified.
absl::StatusOr<TensorFile> LookIntoTensorFile(absl::string_view path);

// Does what ReadTensorFile does for bytes in memory; `name` stands for the path in messages. Tensors point into
// `bytes`, kept alive by `owner`.
absl::StatusOr<TensorFile> ParseTensorFile(absl::string_view name, absl::string_view bytes,
                                           std::shared_ptr<const void> owner, const TensorReadOptions& options = {});

// True if the file begins like a safetensors file, by its first 9 bytes; tools tell tensors from structures by it. Of
// standard input ("-") and of pipes that this process was given (/dev/stdin, process substitution) these bytes are
// awaited, but not taken. False for files that cannot be opened and for named pipes, which could not be opened again.
bool LooksLikeTensorFile(absl::string_view path);

}  // namespace rutile

#endif  // RUTILE_LIB_TENSORFILE_TENSOR_READER_H_
