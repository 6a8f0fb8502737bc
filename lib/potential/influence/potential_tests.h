// The test examples of influence: structures or atoms, and the quantity that is differentiated for them.

#ifndef RUTILE_LIB_POTENTIAL_INFLUENCE_POTENTIAL_TESTS_H_
#define RUTILE_LIB_POTENTIAL_INFLUENCE_POTENTIAL_TESTS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/potential/data/atomic_data.h"

namespace rutile {

enum class PotentialQuantity {
  kLoss,           // the loss of the structure, as for training structures
  kEnergy,         // the predicted total energy, eV
  kAtomForce,      // the squared error of the force on one atom: sum over x, y, z, (eV/Angstrom)^2
  kForceComponent  // one component of the predicted force on one atom, eV/Angstrom
};

// Returns the value of the flag: loss, energy, atom-force or force-component.
absl::string_view PotentialQuantityName(PotentialQuantity quantity);
// Parses what PotentialQuantityName returns. INVALID_ARGUMENT, listing the valid names.
absl::StatusOr<PotentialQuantity> ParsePotentialQuantity(absl::string_view name);

constexpr int64_t kAllAtoms = -1;

struct PotentialTestOptions {
  PotentialQuantity quantity = PotentialQuantity::kLoss;
  // For kAtomForce and kForceComponent: the atom's number in its structure, from 0, or kAllAtoms to make each atom of
  // each structure a test example.
  int64_t atom = 0;
  int component = 0;  // for kForceComponent: 0 x, 1 y, 2 z
};

// INVALID_ARGUMENT naming --test_atom or --test_component, value and range.
absl::Status CheckPotentialTestOptions(const PotentialTestOptions& options);

// A test example: a structure, or one of its atoms.
struct PotentialTest {
  int64_t structure = 0;  // index in the test data
  int64_t atom = -1;      // -1 for a quantity of the structure
};

// Returns the test examples, in the order of structures, then atoms. INVALID_ARGUMENT: errors of
// CheckPotentialTestOptions; a structure (named) that lacks the atom, or lacks forces if their error is asked for.
absl::StatusOr<std::vector<PotentialTest>> PotentialTests(const AtomicData& test, const PotentialTestOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_INFLUENCE_POTENTIAL_TESTS_H_
