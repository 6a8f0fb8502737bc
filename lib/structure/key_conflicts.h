// Collects warnings about quantities that frames give twice, under two known names, with different values.

#ifndef RUTILE_LIB_STRUCTURE_KEY_CONFLICTS_H_
#define RUTILE_LIB_STRUCTURE_KEY_CONFLICTS_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/structure/structure.h"

namespace rutile {

// Counts such conflicts in one file and describes the first of each quantity.
class KeyConflicts {
 public:
  enum Quantity { kEnergy, kForces, kStress, kVirial, kStressOrVirial, kQuantities };

  // Counts a frame with a conflict. Returns true for the first of its quantity, which the caller then describes.
  bool Count(Quantity quantity) { return counts_[quantity]++ == 0; }

  // Records that in this line `used` was read ("energy=-1.5") and not `other` ("REF_energy=-2"); `remedy` says how to
  // choose the other.
  void Describe(Quantity quantity, int64_t line, absl::string_view used, absl::string_view other,
                absl::string_view remedy);

  // Returns a message "path:line: found, what was made of it, remedy" for each quantity with conflicts, with the number
  // of frames.
  std::vector<std::string> Messages(absl::string_view path, int64_t num_frames) const;

 private:
  struct First {
    int64_t line = 0;
    std::string text, remedy;
  };

  std::array<int64_t, kQuantities> counts_ = {};  // number of frames
  std::array<First, kQuantities> first_;
};

// True if two numbers are equal to 1e-5 eV (or eV/Angstrom): the same number may be printed with fewer digits.
bool SameNumber(double a, double b);

// Returns the first component in which two stresses (eV/Angstrom^3) or virials (eV) differ by more than 1e-5 and by
// more than a thousandth of the largest component, which is what printing and the volume may cost; -1 if none does.
int DifferingComponent(const Matrix3& a, const Matrix3& b);

// Returns the name of a component of a Matrix3: "xx" for 0, and so on.
absl::string_view ComponentName(int component);

}  // namespace rutile

#endif  // RUTILE_LIB_STRUCTURE_KEY_CONFLICTS_H_
