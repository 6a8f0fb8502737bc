#include "lib/tensorfile/inspect/tensor_diff.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "lib/tensorfile/inspect/tensor_statistics.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_header.h"

namespace rutile {
namespace {

// Returns the index of element i as text: "[3,0,2]".
std::string Position(const Tensor& tensor, int64_t i) {
  std::vector<int64_t> index(tensor.rank());
  for (int d = tensor.rank() - 1; d >= 0; --d) {
    index[d] = i % tensor.dim(d);
    i /= tensor.dim(d);
  }
  return absl::StrCat("[", absl::StrJoin(index, ","), "]");
}

// Prints enough digits to tell any two values of the type apart.
std::string FormatValue(const Tensor& tensor, int64_t i) {
  const int digits = tensor.dtype() == DType::kF64 ? 17 : ByteSize(tensor.dtype()) == 8 ? 20 : 9;
  return absl::StrFormat("%.*g", digits, ElementAt(tensor, i));
}

// Returns by how much the difference of a and b exceeds the tolerance; 0 or less if they are equal.
long double Excess(long double a, long double b, const TensorDiffOptions& options) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  if (!std::isfinite(a) || !std::isfinite(b)) return std::numeric_limits<long double>::infinity();
  return std::fabs(a - b) - (options.atol + options.rtol * std::fabs(b));
}

// Returns the difference as text, or "".
std::string DiffValues(const Tensor& a, const Tensor& b, const TensorDiffOptions& options) {
  const int64_t count = a.num_elements();
  if (count == 0 || std::memcmp(a.data(), b.data(), a.num_bytes()) == 0) return "";
  int64_t num_different = 0, worst = 0;
  long double worst_excess = 0;
  for (int64_t i = 0; i < count; ++i) {
    const long double excess = Excess(ElementAt(a, i), ElementAt(b, i), options);
    if (excess <= 0) continue;
    ++num_different;
    if (excess > worst_excess) {
      worst_excess = excess;
      worst = i;
    }
  }
  if (num_different == 0) return "";
  const long double difference = std::fabs(ElementAt(a, worst) - ElementAt(b, worst));
  return absl::StrCat(num_different, " of ", count, " values differ, worst at ", Position(a, worst), ": ",
                      FormatValue(a, worst), " against ", FormatValue(b, worst), ", difference ",
                      absl::StrFormat("%.3g", difference), ", relative ",
                      absl::StrFormat("%.3g", difference / std::fabs(ElementAt(b, worst))));
}

void DiffMetadata(const TensorFile& a, const TensorFile& b, std::vector<std::string>* differences) {
  const auto add = [&](const std::string& key, absl::string_view what) {
    if (!absl::StartsWith(key, "crc32c.")) {
      differences->push_back(absl::StrCat("metadata ", JsonQuote(key), ": ", what));
    }
  };
  for (const auto& [key, value] : a.metadata) {
    const auto other = b.metadata.find(key);
    if (other == b.metadata.end()) {
      add(key, absl::StrCat("only in ", a.path));
    } else if (other->second != value) {
      add(key, absl::StrCat(JsonQuote(value), " against ", JsonQuote(other->second)));
    }
  }
  for (const auto& [key, value] : b.metadata) {
    if (a.metadata.count(key) == 0) add(key, absl::StrCat("only in ", b.path));
  }
}

}  // namespace

std::vector<std::string> DiffTensorFiles(const TensorFile& a, const TensorFile& b, const TensorDiffOptions& options) {
  std::vector<std::string> differences;
  if (options.metadata) DiffMetadata(a, b, &differences);
  const auto add = [&](const std::string& name, absl::string_view what) {
    differences.push_back(absl::StrCat("tensor ", JsonQuote(name), ": ", what));
  };
  for (const auto& [name, tensor] : a.tensors) {
    const Tensor* const other = b.tensors.Find(name);
    if (other == nullptr) {
      add(name, absl::StrCat("only in ", a.path));
    } else if (tensor.dtype() != other->dtype() || tensor.shape() != other->shape()) {
      add(name, absl::StrCat(DescribeShape(tensor.dtype(), tensor.shape()), " against ",
                             DescribeShape(other->dtype(), other->shape())));
    } else if (const std::string what = DiffValues(tensor, *other, options); !what.empty()) {
      add(name, what);
    }
  }
  for (const auto& [name, tensor] : b.tensors) {
    if (!a.tensors.Has(name)) add(name, absl::StrCat("only in ", b.path));
  }
  return differences;
}

}  // namespace rutile
