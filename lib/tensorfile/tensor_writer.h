// Writes safetensors files: whole or not at all, data aligned to 64 bytes, the widest types first.

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

// "-" is standard output (refused when that is a terminal; no checksums there, since they precede the data).
// Same content, same bytes: no dates, and the order of tensors of one width is the order of `tensors`. "crc32c.NAME" in
// `metadata`, as a file that was read brings it along, is replaced or dropped. Names and texts must be UTF-8.
absl::Status WriteTensorFile(absl::string_view path, const Metadata& metadata, const NamedTensors& tensors);

// For content larger than memory: tensors grow along their first dimension, each in a spool file beside the output that
// no other process sees, and Finish joins them. Nothing appears under `path` before Finish returns OK.
class TensorStreamWriter {
 public:
  static absl::StatusOr<TensorStreamWriter> Create(absl::string_view path);
  TensorStreamWriter(TensorStreamWriter&&) noexcept;
  ~TensorStreamWriter();

  // Declares a tensor of shape [n, row_shape...]; the order of declaration is the order in the file among tensors of
  // one width. Rows without elements cannot be counted: n stays 0.
  absl::Status Declare(absl::string_view name, DType dtype, std::vector<int64_t> row_shape);
  // Appends whole rows. CHECK-fails on an undeclared name or another type.
  template <typename T>
  absl::Status Append(absl::string_view name, absl::Span<const T> values) {
    return AppendBytes(name, DTypeOf<T>(), values.data(), values.size());
  }
  int64_t rows(absl::string_view name) const;
  absl::Status Finish(const Metadata& metadata);

 private:
  struct State;
  explicit TensorStreamWriter(std::unique_ptr<State> state);
  absl::Status AppendBytes(absl::string_view name, DType dtype, const void* data, int64_t num_elements);
  std::unique_ptr<State> state_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TENSORFILE_TENSOR_WRITER_H_
