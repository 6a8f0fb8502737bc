// Whole units: how many there are in a number, and the number rounded up to them.

#ifndef RUTILE_LIB_BASE_ROUND_UP_H_
#define RUTILE_LIB_BASE_ROUND_UP_H_

#include <cstdint>

namespace rutile {

// Returns how many units hold `x`: the quotient, rounded up. x >= 0, unit > 0. It does not overflow.
constexpr int64_t CeilDivide(int64_t x, int64_t unit) { return x / unit + (x % unit > 0 ? 1 : 0); }

// Returns the smallest multiple of `unit` that is at least `x`. x >= 0, unit > 0; the result must fit.
constexpr int64_t RoundUp(int64_t x, int64_t unit) { return CeilDivide(x, unit) * unit; }

}  // namespace rutile

#endif  // RUTILE_LIB_BASE_ROUND_UP_H_
