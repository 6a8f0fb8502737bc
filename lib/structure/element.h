// Chemical symbols and atomic numbers, 1 (H) to 118 (Og).

#ifndef RUTILE_LIB_STRUCTURE_ELEMENT_H_
#define RUTILE_LIB_STRUCTURE_ELEMENT_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace rutile {

// Returns the atomic number of a symbol, or 0 if there is no such element. Case matters: "Co" is cobalt, "CO" is
// nothing.
uint8_t AtomicNumber(absl::string_view symbol);

// Returns the symbol of an element ("Ti" for 22). CHECK-fails outside 1..118.
absl::string_view ElementSymbol(uint8_t atomic_number);

}  // namespace rutile

#endif  // RUTILE_LIB_STRUCTURE_ELEMENT_H_
