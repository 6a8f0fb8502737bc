// Writes structures as extended XYZ without loss: reading them back gives the same numbers bit for bit.

#ifndef RUTILE_LIB_STRUCTURE_EXTXYZ_WRITER_H_
#define RUTILE_LIB_STRUCTURE_EXTXYZ_WRITER_H_

#include <string>

#include "lib/structure/structure.h"

namespace rutile {

// Appends one frame to `out`: species, pos, forces if present; Lattice unless it is zero; pbc; energy; stress; each
// pair of info, but for further energies and stresses of usual names, which the reader could take for the structure's.
// The name is not written. Numbers have as many digits as they need (at most 17). An info key that the reader
// interprets ("REF_energy" in a structure without energy) does not come back as info. CHECK-fails if the lengths of
// element, position and force disagree.
void AppendExtxyz(const Structure& structure, std::string* out);

}  // namespace rutile

#endif  // RUTILE_LIB_STRUCTURE_EXTXYZ_WRITER_H_
