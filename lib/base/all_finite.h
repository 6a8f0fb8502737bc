// Whether an array holds NaN or infinity, as fast as memory is read.

#ifndef RUTILE_LIB_BASE_ALL_FINITE_H_
#define RUTILE_LIB_BASE_ALL_FINITE_H_

#include "absl/types/span.h"

namespace rutile {

bool AllFinite(absl::Span<const float> values);
bool AllFinite(absl::Span<const double> values);

}  // namespace rutile

#endif  // RUTILE_LIB_BASE_ALL_FINITE_H_
