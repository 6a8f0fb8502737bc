// Structures as extended XYZ, exactly: reading them back gives the same numbers bit for bit.

#ifndef RUTILE_LIB_STRUCTURE_EXTXYZ_WRITER_H_
#define RUTILE_LIB_STRUCTURE_EXTXYZ_WRITER_H_

#include <string>

#include "lib/structure/structure.h"

namespace rutile {

// Appends one frame to `out`: species, pos, forces where there are any; Lattice unless it is zero; pbc; energy; stress;
// each pair of info. The name is not written. Numbers have as many digits as they need (at most 17). A pair of info
// whose key the reader takes for something else ("REF_energy" where there is no energy) does not come back as info.
// CHECK-fails when the lengths of element, position and force disagree.
void AppendExtxyz(const Structure& structure, std::string* out);

}  // namespace rutile

#endif  // RUTILE_LIB_STRUCTURE_EXTXYZ_WRITER_H_
