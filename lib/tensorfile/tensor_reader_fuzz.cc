// Reads any bytes as a tensor file: the result is an error, or tensors that can be read to their ends and headers that
// survive a round trip.

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/tensorfile/inspect/tensor_statistics.h"
#include "lib/tensorfile/tensor_file.h"
#include "lib/tensorfile/tensor_header.h"
#include "lib/tensorfile/tensor_reader.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // The bytes are copied, so that a sanitizer sees reads beyond the end.
  const std::shared_ptr<const std::string> bytes =
      std::make_shared<const std::string>(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<rutile::TensorFile> file = rutile::ParseTensorFile("fuzz", *bytes, bytes, {true});
  if (!file.ok()) {
    Require(!file.status().message().empty());
    return 0;
  }
  rutile::DescribeTensorFile(*file, true);
  const absl::string_view json = absl::string_view(*bytes).substr(8);
  const absl::StatusOr<rutile::TensorHeader> header = rutile::ParseTensorHeader(json.substr(0, json.rfind('}') + 1));
  if (!header.ok()) return 0;  // a brace in the data
  const absl::StatusOr<std::string> written = rutile::FormatTensorHeader(*header);
  Require(written.ok() && written->size() % 64 == 0);
  const absl::StatusOr<rutile::TensorHeader> again = rutile::ParseTensorHeader(absl::string_view(*written).substr(8));
  Require(again.ok() && again->metadata == header->metadata && again->entries.size() == header->entries.size());
  for (size_t i = 0; i < again->entries.size(); ++i) {
    const rutile::TensorEntry &a = again->entries[i], &b = header->entries[i];
    Require(a.name == b.name && a.dtype == b.dtype && a.shape == b.shape && a.begin == b.begin && a.end == b.end);
  }
  return 0;
}
