// Chemical symbols and atomic numbers, 1 (H) to 118 (Og).

#ifndef RUTILE_LIB_STRUCTURE_ELEMENT_H_
#define RUTILE_LIB_STRUCTURE_ELEMENT_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace rutile {

// 0 when there is no such element. Case matters, as in the field: "Co" is cobalt, "CO" nothing.
uint8_t AtomicNumber(absl::string_view symbol);

// "Ti" for 22. CHECK-fails outside 1..118.
absl::string_view ElementSymbol(uint8_t atomic_number);

}  // namespace rutile

#endif  // RUTILE_LIB_STRUCTURE_ELEMENT_H_
