// Covalent radii, against which distances between atoms are judged.

#ifndef RUTILE_LIB_STRUCTURE_COVALENT_RADII_H_
#define RUTILE_LIB_STRUCTURE_COVALENT_RADII_H_

#include <cstdint>

namespace rutile {

// Returns the single-bond covalent radius of an element in Angstrom (low spin, sp3 carbon). Beyond curium (96) it is
// that of curium. Source: B. Cordero et al., Dalton Trans. 2008, 2832. CHECK-fails outside 1..118.
double CovalentRadius(uint8_t atomic_number);

// The largest covalent radius, that of francium, in Angstrom.
inline constexpr double kLargestCovalentRadius = 2.60;

// True for He to Rn, whose atoms touch at distances far beyond covalent ones.
bool IsNobleGas(uint8_t atomic_number);

}  // namespace rutile

#endif  // RUTILE_LIB_STRUCTURE_COVALENT_RADII_H_
