// Numbers as text: with a given number of decimals for people, or with all digits that count.

#ifndef RUTILE_LIB_BASE_DECIMAL_H_
#define RUTILE_LIB_BASE_DECIMAL_H_

#include <charconv>
#include <cmath>
#include <string>

#include "absl/strings/str_format.h"

namespace rutile {

// "-5.0123" with four decimals; "1e+200" where that would be hundreds of digits, that is from 1e9 in size, six digits;
// "nan" of either sign: 0/0 has one or the other by processor and compiler.
inline std::string Decimal(double value, int decimals) {
  if (std::isnan(value)) return "nan";
  return std::abs(value) < 1e9 ? absl::StrFormat("%.*f", decimals, value) : absl::StrFormat("%.6g", value);
}

// The shortest text that reads back as the same double: "0.1", "1e-05", "nan".
inline std::string ExactDecimal(double value) {
  char text[32];  // of which at most 24 are needed
  return std::string(text, std::to_chars(text, text + sizeof(text), value).ptr);
}

// The shortest text that reads back as the same number, as a person writes it: "0.98", "1e-10", "10000", "1e20", "nan".
inline std::string ShortestDecimal(double value) {
  if (std::isnan(value)) return "nan";
  std::string text = ExactDecimal(value);
  // "1e+20" and "1e-08" have a sign and a digit that say nothing.
  if (const size_t e = text.find('e'); e != std::string::npos) {
    const size_t digit = text.find_first_not_of("+-0", e + 1);
    text = text.substr(0, e + 1) + (text[e + 1] == '-' ? "-" : "") + text.substr(digit);
  }
  return text;
}

}  // namespace rutile

#endif  // RUTILE_LIB_BASE_DECIMAL_H_
