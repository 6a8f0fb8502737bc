#include "lib/graph/name_lines.h"

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "lib/tensorfile/tensor_header.h"

namespace rutile {

Tensor NamesToTensor(const std::vector<std::string>& names) {
  int64_t size = 0;
  for (const std::string& name : names) size += static_cast<int64_t>(name.size()) + 1;
  Tensor tensor = Tensor::Zeros(DType::kU8, {size});
  uint8_t* out = tensor.mutable_values<uint8_t>().data();
  for (const std::string& name : names) {
    out = std::copy(name.begin(), name.end(), out);
    *out++ = '\n';
  }
  return tensor;
}

absl::StatusOr<std::vector<std::string>> NamesFromTensor(const TensorFile& file, absl::string_view name) {
  const absl::Span<const uint8_t> bytes = file.tensors.At(name).values<uint8_t>();
  absl::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.empty() && text.back() != '\n') {
    return absl::InvalidArgumentError(
        absl::StrCat(file.path, ": tensor ", JsonQuote(name), " does not end with a line end, expected one per name"));
  }
  std::vector<std::string> lines;
  lines.reserve(std::count(text.begin(), text.end(), '\n'));
  while (!text.empty()) {
    const size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return lines;
}

}  // namespace rutile
