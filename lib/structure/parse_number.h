// Parses numbers and words in lines of text, as fast as the files are read.

#ifndef RUTILE_LIB_STRUCTURE_PARSE_NUMBER_H_
#define RUTILE_LIB_STRUCTURE_PARSE_NUMBER_H_

#include <cstdint>
#include <cstring>
#include <optional>

#include "absl/strings/string_view.h"

namespace rutile {

inline bool IsBlank(char c) { return c == ' ' || c == '\t'; }
inline bool IsDigit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

inline const char* SkipBlanks(const char* p, const char* end) {
  while (p != end && IsBlank(*p)) ++p;
  return p;
}

// Returns the word that starts at the first non-blank of [*p, end), empty at the end, and moves *p behind it.
inline absl::string_view NextWord(const char** p, const char* end) {
  const char* const begin = SkipBlanks(*p, end);
  const char* q = begin;
  while (q != end && !IsBlank(*q)) ++q;
  *p = q;
  return absl::string_view(begin, q - begin);
}

// Loads eight characters as a number whose lowest byte is the first (little-endian, as all supported machines are).
inline uint64_t LoadEight(const char* p) {
  uint64_t eight;
  std::memcpy(&eight, p, sizeof(eight));
  return eight;
}
// True if each byte is in '0'..'9': then its upper half is 3, also after adding 6.
inline bool AreEightDigits(uint64_t eight) {
  return ((eight & 0xF0F0F0F0F0F0F0F0) | (((eight + 0x0606060606060606) & 0xF0F0F0F0F0F0F0F0) >> 4)) ==
         0x3333333333333333;
}
// Converts eight digits to a number with three multiplications: pairs, then fours, then all.
inline uint64_t EightDigits(uint64_t eight) {
  eight = (eight & 0x0F0F0F0F0F0F0F0F) * 2561 >> 8;
  eight = (eight & 0x00FF00FF00FF00FF) * 6553601 >> 16;
  return (eight & 0x0000FFFF0000FFFF) * 42949672960001 >> 32;
}

// Does the work of ParseDouble where its fast path fails: many digits, exponents, errors.
const char* ParseDoubleSlow(const char* p, const char* end, double* value);

// Parses a decimal number at p to the nearest double: "-1.5", "+.5", "3", "1e-3", Fortran's "0.55d0". Returns the end
// of the number, or null if there is none. Also returns null for nan, inf and numbers too large for a double; too small
// numbers become 0.
inline const char* ParseDouble(const char* p, const char* end, double* value) {
  // Up to 15 digits and a division by an exact power of ten: correctly rounded (W. D. Clinger, PLDI 1990).
  static constexpr double kPowers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                       1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  const char* q = p;
  bool negative = false;
  if (q != end && (*q == '-' || *q == '+')) negative = *q++ == '-';
  uint64_t digits = 0;
  const char* const integer = q;
  while (q != end && IsDigit(*q)) digits = 10 * digits + (*q++ - '0');
  int64_t count = q - integer;
  int64_t decimals = 0;
  if (q != end && *q == '.') {
    const char* const fraction = ++q;
    // Most writers print eight decimals, which are parsed at once.
    if (end - q >= 8 && AreEightDigits(LoadEight(q))) {
      digits = 100'000'000 * digits + EightDigits(LoadEight(q));
      q += 8;
    }
    while (q != end && IsDigit(*q)) digits = 10 * digits + (*q++ - '0');
    decimals = q - fraction;
    count += decimals;
  }
  // A letter behind the digits means an exponent, or no number.
  if (count == 0 || count > 15 || (q != end && static_cast<unsigned char>(*q) >= 'A')) {
    return ParseDoubleSlow(p, end, value);
  }
  const double magnitude = static_cast<double>(digits) / kPowers[decimals];
  *value = negative ? -magnitude : magnitude;
  return q;
}

// Parse the whole of `text`, except for blanks around it; nullopt if it is no number.
std::optional<double> ParseNumber(absl::string_view text);
std::optional<int64_t> ParseInteger(absl::string_view text);

// Parses a symbol ("Ti") or an atomic number ("22"); 0 if it is neither.
uint8_t ParseElement(absl::string_view word);

}  // namespace rutile

#endif  // RUTILE_LIB_STRUCTURE_PARSE_NUMBER_H_
