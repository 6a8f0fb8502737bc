#include "tools/tracin/outputs/python_number.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace rutile {

std::string PythonNumber(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[64];
  const std::to_chars_result end =
      std::to_chars(buffer, buffer + sizeof(buffer), std::abs(value), std::chars_format::scientific);
  const absl::string_view text(buffer, end.ptr - buffer);  // d.ddde-05
  const size_t e = text.find('e');
  const int exponent = std::atoi(std::string(text.substr(e + 1)).c_str());
  std::string digits = absl::StrReplaceAll(text.substr(0, e), {{".", ""}});
  const std::string sign = std::signbit(value) ? "-" : "";
  const auto count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) return absl::StrCat(sign, text.substr(0, e), text.substr(e));
  if (exponent < 0) return absl::StrCat(sign, "0.", std::string(-exponent - 1, '0'), digits);
  if (count <= exponent + 1) return absl::StrCat(sign, digits, std::string(exponent + 1 - count, '0'), ".0");
  return absl::StrCat(sign, digits.substr(0, exponent + 1), ".", digits.substr(exponent + 1));
}

std::string PythonCsvRow(absl::Span<const std::string> fields) {
  std::string row;
  for (const std::string& field : fields) {
    if (!row.empty() || &field != &fields[0]) absl::StrAppend(&row, ",");
    if (field.find_first_of(",\"\r\n") == std::string::npos) {
      absl::StrAppend(&row, field);
    } else {
      absl::StrAppend(&row, "\"", absl::StrReplaceAll(field, {{"\"", "\"\""}}), "\"");
    }
  }
  return row + "\r\n";
}

}  // namespace rutile
