#include "lib/structure/parse_number.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "lib/structure/element.h"

namespace rutile {
namespace {

constexpr int64_t kMaxExponent = 1'000'000'000;  // larger exponents give the same result

absl::string_view StripBlanks(absl::string_view text) {
  while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsBlank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

const char* ParseDoubleSlow(const char* p, const char* end, double* value) {
  const bool negative = p != end && *p == '-';
  if (p != end && (*p == '-' || *p == '+')) ++p;
  // Excludes "nan" and "inf", which from_chars accepts.
  if (p == end || !(IsDigit(*p) || *p == '.')) return nullptr;
  double magnitude = 0;
  std::from_chars_result result = std::from_chars(p, end, magnitude);
  if (result.ec == std::errc() && (result.ptr == end || (*result.ptr != 'd' && *result.ptr != 'D'))) {
    *value = negative ? -magnitude : magnitude;
    return result.ptr;
  }
  // The number is out of range or has Fortran's exponent, so its parts are needed.
  const char* q = p;
  int64_t point = 0;  // significant digits before the decimal point; zeros behind it count as -1
  bool any = false;
  bool nonzero = false;
  for (bool fraction = false; q != end; ++q) {
    if (*q == '.' && !fraction) {
      fraction = true;
    } else if (IsDigit(*q)) {
      any = true;
      nonzero = nonzero || *q != '0';
      if (!fraction && nonzero) ++point;
      if (fraction && !nonzero) --point;
    } else {
      break;
    }
  }
  if (!any) return nullptr;
  const char* const mantissa_end = q;
  int64_t exponent = 0;
  if (q != end && (*q == 'e' || *q == 'E' || *q == 'd' || *q == 'D')) {
    if (++q == end) return nullptr;
    const bool negative_exponent = *q == '-';
    if (*q == '-' || *q == '+') ++q;
    if (q == end || !IsDigit(*q)) return nullptr;
    while (q != end && IsDigit(*q)) exponent = std::min(10 * exponent + (*q++ - '0'), kMaxExponent);
    if (negative_exponent) exponent = -exponent;
  }
  if (result.ec == std::errc()) {
    char copy[800];  // more digits than a double depends on
    if (mantissa_end - p > static_cast<int64_t>(sizeof(copy)) - 32) return nullptr;
    char* c = std::copy(p, mantissa_end, copy);
    *c++ = 'e';
    c = std::to_chars(c, copy + sizeof(copy), exponent).ptr;
    result = std::from_chars(copy, c, magnitude);
  }
  if (result.ec == std::errc::result_out_of_range) {
    if (nonzero && point + exponent > 0) return nullptr;
    magnitude = 0;
  } else if (result.ec != std::errc()) {
    return nullptr;
  }
  *value = negative ? -magnitude : magnitude;
  return q;
}

std::optional<double> ParseNumber(absl::string_view text) {
  text = StripBlanks(text);
  double value = 0;
  const char* const end = text.data() + text.size();
  if (text.empty() || ParseDouble(text.data(), end, &value) != end) return std::nullopt;
  return value;
}

std::optional<int64_t> ParseInteger(absl::string_view text) {
  text = StripBlanks(text);
  if (text.size() > 1 && text[0] == '+' && IsDigit(text[1])) text.remove_prefix(1);
  int64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || result.ec != std::errc() || result.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

uint8_t ParseElement(absl::string_view word) {
  if (word.empty() || !IsDigit(word[0])) return AtomicNumber(word);
  const std::optional<int64_t> number = ParseInteger(word);
  return number.has_value() && *number >= 1 && *number <= 118 ? *number : 0;
}

}  // namespace rutile
