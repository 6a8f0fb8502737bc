#include "lib/tensorfile/inspect/tensor_statistics.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "lib/tensorfile/tensor_header.h"

namespace rutile {
namespace {

constexpr size_t kShownValue = 100;  // largest number of bytes shown of a metadata value

template <typename T>
T Load(const Tensor& tensor, int64_t i) {
  T value;
  std::memcpy(&value, static_cast<const char*>(tensor.data()) + i * sizeof(T), sizeof(T));
  return value;
}

// Converts IEEE 754 binary16: 1 sign, 5 exponent, 10 fraction bits.
float HalfToFloat(uint16_t half) {
  const int exponent = (half >> 10) & 31, fraction = half & 1023;
  const float sign = half & 0x8000 ? -1.0f : 1.0f;
  if (exponent == 31) return fraction != 0 ? NAN : sign * INFINITY;
  return sign * std::ldexp(exponent == 0 ? fraction : fraction + 1024, std::max(exponent, 1) - 25);
}

// Converts bfloat16, the upper half of a float.
float BFloatToFloat(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

std::string Escaped(absl::string_view text) {
  const bool is_plain = std::none_of(text.begin(), text.end(), [](char c) { return absl::ascii_iscntrl(c); });
  return is_plain ? std::string(text) : JsonQuote(text);
}

std::string Shortened(absl::string_view text) {
  if (text.size() <= kShownValue) return Escaped(text);
  size_t end = kShownValue;
  while (end > 0 && (text[end] & 0xc0) == 0x80) --end;  // do not cut within a character
  return absl::StrCat(Escaped(text.substr(0, end)), "... (", text.size(), " bytes)");
}

// Formats columns as wide as their widest cell, two spaces apart.
std::string Table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line = " ";
    for (size_t i = 0; i < row.size(); ++i) {
      absl::StrAppend(&line, " ", row[i], std::string(widths[i] - row[i].size() + 1, ' '));
    }
    absl::StrAppend(&text, absl::StripTrailingAsciiWhitespace(line), "\n");
  }
  return text;
}

}  // namespace

long double ElementAt(const Tensor& tensor, int64_t i) {
  switch (tensor.dtype()) {
    case DType::kBool:
    case DType::kU8:
      return Load<uint8_t>(tensor, i);
    case DType::kI8:
      return Load<int8_t>(tensor, i);
    case DType::kU16:
      return Load<uint16_t>(tensor, i);
    case DType::kI16:
      return Load<int16_t>(tensor, i);
    case DType::kF16:
      return HalfToFloat(Load<uint16_t>(tensor, i));
    case DType::kBF16:
      return BFloatToFloat(Load<uint16_t>(tensor, i));
    case DType::kU32:
      return Load<uint32_t>(tensor, i);
    case DType::kI32:
      return Load<int32_t>(tensor, i);
    case DType::kF32:
      return Load<float>(tensor, i);
    case DType::kU64:
      return Load<uint64_t>(tensor, i);
    case DType::kI64:
      return Load<int64_t>(tensor, i);
    case DType::kF64:
      return Load<double>(tensor, i);
  }
  return NAN;  // a value that is no DType
}

TensorStatistics ComputeStatistics(const Tensor& tensor) {
  TensorStatistics statistics;
  long double sum = 0, min = 0, max = 0;
  const int64_t count = tensor.num_elements();
  for (int64_t i = 0; i < count; ++i) {
    const long double value = ElementAt(tensor, i);
    if (std::isnan(value)) {
      ++statistics.num_nan;
      continue;
    }
    min = statistics.num_numbers == 0 ? value : std::min(min, value);
    max = statistics.num_numbers == 0 ? value : std::max(max, value);
    sum += value;
    ++statistics.num_numbers;
  }
  if (statistics.num_numbers > 0) {
    statistics.min = static_cast<double>(min);
    statistics.max = static_cast<double>(max);
    statistics.mean = static_cast<double>(sum / statistics.num_numbers);
  }
  return statistics;
}

std::string DescribeTensorFile(const TensorFile& file, bool full) {
  const auto kind = file.metadata.find("kind");
  int64_t num_bytes = 0;
  for (const auto& [name, tensor] : file.tensors) num_bytes += tensor.num_bytes();
  std::string text =
      absl::StrCat(Escaped(file.path), ": ", kind == file.metadata.end() ? "no kind" : Escaped(kind->second), ", ",
                   file.tensors.size(), " tensors, ", num_bytes, " bytes of data\n");
  std::vector<std::vector<std::string>> rows;
  for (const auto& [key, value] : file.metadata) {
    if (full) {
      rows.push_back({Escaped(key), Escaped(value)});
    } else if (!absl::StartsWith(key, "crc32c.")) {
      rows.push_back({Escaped(key), Shortened(value)});
    }
  }
  if (!rows.empty()) absl::StrAppend(&text, "metadata\n", Table(rows));
  rows = {{"name", "dtype", "shape", "min", "max", "mean", "NaN"}};
  for (const auto& [name, tensor] : file.tensors) {
    const TensorStatistics statistics = ComputeStatistics(tensor);
    std::vector<std::string> row = {Escaped(name), std::string(DTypeName(tensor.dtype())),
                                    absl::StrCat("[", absl::StrJoin(tensor.shape(), ","), "]")};
    for (const double value : {statistics.min, statistics.max, statistics.mean}) {
      row.push_back(statistics.num_numbers > 0 ? absl::StrFormat("%.6g", value) : "-");
    }
    row.push_back(absl::StrCat(statistics.num_nan));
    rows.push_back(std::move(row));
  }
  if (rows.size() > 1) absl::StrAppend(&text, "tensors\n", Table(rows));
  return text;
}

}  // namespace rutile
