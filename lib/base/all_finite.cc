#include "lib/base/all_finite.h"

#include <cstdint>
#include <cstring>

namespace rutile {
namespace {

// The test is on integers, which the compiler may vectorize: it may not reorder sums of floating-point numbers.
template <typename T, typename Bits>
bool AllFiniteBits(absl::Span<const T> values, Bits exponent) {
  Bits bad = 0;
  for (const T& value : values) {
    Bits bits;
    std::memcpy(&bits, &value, sizeof(bits));
    bad |= (bits & exponent) == exponent ? 1 : 0;
  }
  return bad == 0;
}

}  // namespace

bool AllFinite(absl::Span<const float> values) { return AllFiniteBits<float, uint32_t>(values, 0x7f800000u); }
bool AllFinite(absl::Span<const double> values) { return AllFiniteBits<double, uint64_t>(values, 0x7ff0000000000000u); }

}  // namespace rutile
