// Data of which not every structure has every label, for tests.

#ifndef RUTILE_LIB_POTENTIAL_TRAINING_TESTS_MIXED_LABELS_TESTING_H_
#define RUTILE_LIB_POTENTIAL_TRAINING_TESTS_MIXED_LABELS_TESTING_H_

#include <cstdint>
#include <string>

namespace rutile {

// Every third structure of the file that WriteMixedLabels writes has no energy, and of the others every fourth no
// forces.
inline bool MixedHasEnergy(int64_t s) { return s % 3 != 1; }
inline bool MixedHasForces(int64_t s) { return !MixedHasEnergy(s) || s % 4 != 2; }

// Writes the extended XYZ file `from` as `to` without these energies and forces; with energies = false without any.
// CHECK-fails if a file cannot be read or written.
void WriteMixedLabels(const std::string& from, const std::string& to, bool energies = true);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_TRAINING_TESTS_MIXED_LABELS_TESTING_H_
