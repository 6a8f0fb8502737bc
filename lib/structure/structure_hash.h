// Names a structure by its content, so that lists find it again in another file, order or format.

#ifndef RUTILE_LIB_STRUCTURE_STRUCTURE_HASH_H_
#define RUTILE_LIB_STRUCTURE_STRUCTURE_HASH_H_

#include <string>

#include "absl/strings/string_view.h"
#include "lib/structure/structure.h"

namespace rutile {

// Returns 12 hex digits of SHA-256 over elements, positions, periodicity and, where it is periodic, the cell. Names and
// labels do not count: a structure that was computed anew is the same structure.
std::string StructureHash(const Structure& structure);

// True for what StructureHash returns.
bool IsStructureHash(absl::string_view word);

}  // namespace rutile

#endif  // RUTILE_LIB_STRUCTURE_STRUCTURE_HASH_H_
