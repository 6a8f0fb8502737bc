// Writes safetensors files that appear complete or not at all, with data aligned to 64 bytes and the widest types
// first.

#ifndef RUTILE_LIB_TENSORFILE_TENSOR_WRITER_H_
#define RUTILE_LIB_TENSORFILE_TENSOR_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// Writes a file; "-" is standard output (an error if that is a terminal; it gets no checksums, which would have to
// precede the data). The same content gives the same bytes: there are no dates, and tensors of one width keep the order
// of `tensors`. Keys "crc32c.NAME" in `metadata`, copied from a file that was read, are replaced or dropped. Names and
// texts must be UTF-8.
//
//   RETURN_IF_ERROR(WriteTensorFile(path, MakeMetadata("potential/1", provenance, /*own=*/{}), tensors));
absl::Status WriteTensorFile(absl::string_view path, const Metadata& metadata, const NamedTensors& tensors);

// Writes content larger than memory: tensors grow along their first dimension, each in a spool file beside the output
// that no other process sees, and Finish joins them. Nothing appears under `path` before Finish returns OK.
class TensorStreamWriter {
 public:
  static absl::StatusOr<TensorStreamWriter> Create(absl::string_view path);
  TensorStreamWriter(TensorStreamWriter&&) noexcept;
  ~TensorStreamWriter();

  // Declares a tensor of shape [n, row_shape...]. Tensors of one width are in the file in the order of declaration.
  // Rows without elements cannot be counted: n stays 0.
  absl::Status Declare(absl::string_view name, DType dtype, std::vector<int64_t> row_shape);
  // Appends whole rows. CHECK-fails on an undeclared name or another type.
  template <typename T>
  absl::Status Append(absl::string_view name, absl::Span<const T> values) {
    return AppendBytes(name, DTypeOf<T>(), values.data(), values.size());
  }
  // Number of rows appended so far.
  int64_t rows(absl::string_view name) const;
  // Writes the file, which appears now.
  absl::Status Finish(const Metadata& metadata);

 private:
  struct State;
  explicit TensorStreamWriter(std::unique_ptr<State> state);
  absl::Status AppendBytes(absl::string_view name, DType dtype, const void* data, int64_t num_elements);
  std::unique_ptr<State> state_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TENSORFILE_TENSOR_WRITER_H_
