// Searches an array for NaN and infinity at the speed of memory, so that each gradient can be checked.

#ifndef RUTILE_LIB_BASE_ALL_FINITE_H_
#define RUTILE_LIB_BASE_ALL_FINITE_H_

#include "absl/types/span.h"

namespace rutile {

// True if no value is NaN or infinite.
bool AllFinite(absl::Span<const float> values);
bool AllFinite(absl::Span<const double> values);

}  // namespace rutile

#endif  // RUTILE_LIB_BASE_ALL_FINITE_H_
