#include "lib/structure/parse_number.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "lib/structure/element.h"

namespace rutile {
namespace {

// Powers of ten that are doubles.
constexpr double kExactPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr int64_t kMaxExponent = 1'000'000'000;  // larger ones mean the same

absl::string_view StripBlanks(absl::string_view text) {
  while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsBlank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

const char* ParseDoubleSlow(const char* p, const char* end, double* value) {
  bool negative = false;
  if (p != end && (*p == '-' || *p == '+')) negative = *p++ == '-';
  const char* q = p;
  uint64_t digits = 0;  // overflows in a long number, which then is not used
  int64_t significant = 0;
  int64_t exponent = 0;
  bool any = false;
  for (bool fraction = false; q != end; ++q) {
    if (*q == '.' && !fraction) {
      fraction = true;
    } else if (IsDigit(*q)) {
      any = true;
      digits = 10 * digits + (*q - '0');
      if (significant > 0 || *q != '0') ++significant;
      if (fraction) --exponent;
    } else {
      break;
    }
  }
  if (!any) return nullptr;
  const char* const mantissa_end = q;
  bool fortran = false;
  int64_t written_exponent = 0;
  if (q != end && (*q == 'e' || *q == 'E' || *q == 'd' || *q == 'D')) {
    fortran = *q == 'd' || *q == 'D';
    if (++q == end) return nullptr;
    const bool negative_exponent = *q == '-';
    if (*q == '-' || *q == '+') ++q;
    if (q == end || !IsDigit(*q)) return nullptr;
    while (q != end && IsDigit(*q)) {
      written_exponent = std::min(10 * written_exponent + (*q++ - '0'), kMaxExponent);
    }
    if (negative_exponent) written_exponent = -written_exponent;
    exponent += written_exponent;
  }
  double magnitude = 0;
  if (significant == 0) {
    magnitude = 0;
  } else if (significant <= 15 && exponent >= -22 && exponent <= 22) {
    const double exact = static_cast<double>(digits);
    magnitude = exponent < 0 ? exact / kExactPowers[-exponent] : exact * kExactPowers[exponent];
  } else {
    std::from_chars_result result;
    if (fortran) {
      // Digits and exponent apart, for from_chars knows no 'd'. A mantissa of more digits than this has had its say.
      char copy[800];
      const size_t size = std::min<size_t>(mantissa_end - p, sizeof(copy) - 32);
      if (size != static_cast<size_t>(mantissa_end - p)) return nullptr;
      char* c = std::copy(p, mantissa_end, copy);
      *c++ = 'e';
      c = std::to_chars(c, copy + sizeof(copy), written_exponent).ptr;
      result = std::from_chars(copy, c, magnitude);
    } else {
      result = std::from_chars(p, q, magnitude);
    }
    if (result.ec == std::errc::result_out_of_range) {
      if (significant + exponent > 0) return nullptr;
      magnitude = 0;
    } else if (result.ec != std::errc()) {
      return nullptr;
    }
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
