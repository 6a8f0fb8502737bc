// Numbers for people, with so many decimals.

#ifndef RUTILE_LIB_BASE_DECIMAL_H_
#define RUTILE_LIB_BASE_DECIMAL_H_

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

}  // namespace rutile

#endif  // RUTILE_LIB_BASE_DECIMAL_H_
