// Quantities that frames of a file give twice, under two of the names that they are looked for by, and not alike.

#ifndef RUTILE_LIB_STRUCTURE_KEY_CONFLICTS_H_
#define RUTILE_LIB_STRUCTURE_KEY_CONFLICTS_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/structure/structure.h"

namespace rutile {

class KeyConflicts {
 public:
  enum Quantity { kEnergy, kForces, kStress, kVirial, kStressOrVirial, kQuantities };

  // A frame has one. True for the first of its quantity, which is to be described.
  bool Count(Quantity quantity) { return counts_[quantity]++ == 0; }

  // In this line `used` counts, as "energy=-1.5", and not `other`, as "REF_energy=-2"; `remedy` takes the other.
  void Describe(Quantity quantity, int64_t line, absl::string_view used, absl::string_view other,
                absl::string_view remedy);

  // "path:line: found, what was made of it, remedy" for each quantity that has any, with the number of frames.
  std::vector<std::string> Messages(absl::string_view path, int64_t num_frames) const;

 private:
  struct First {
    int64_t line = 0;
    std::string text, remedy;
  };

  std::array<int64_t, kQuantities> counts_ = {};  // of frames
  std::array<First, kQuantities> first_;
};

// Numbers as written with fewer digits are the same: to 1e-5 eV, or eV/Angstrom.
bool SameNumber(double a, double b);

// The first component in which two stresses (eV/Angstrom^3) or virials (eV) differ by more than 1e-5 and a thousandth
// of the largest, which printing and the volume may cost; -1 where none does.
int DifferingComponent(const Matrix3& a, const Matrix3& b);

// "xx" for component 0 of a Matrix3, and so on.
absl::string_view ComponentName(int component);

}  // namespace rutile

#endif  // RUTILE_LIB_STRUCTURE_KEY_CONFLICTS_H_
