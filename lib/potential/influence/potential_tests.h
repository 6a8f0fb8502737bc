// Test examples of influence: which structures or atoms, and what is differentiated for them.

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
  kLoss,           // the loss of the structure, as of training structures
  kEnergy,         // the predicted total energy, eV
  kAtomForce,      // the squared error of the force on one atom: sum over x, y, z, (eV/Angstrom)^2
  kForceComponent  // one component of the predicted force on one atom, eV/Angstrom
};

// As flags say them: loss, energy, atom-force, force-component.
absl::string_view PotentialQuantityName(PotentialQuantity quantity);
// INVALID_ARGUMENT with the names there are.
absl::StatusOr<PotentialQuantity> ParsePotentialQuantity(absl::string_view name);

constexpr int64_t kAllAtoms = -1;

struct PotentialTestOptions {
  PotentialQuantity quantity = PotentialQuantity::kLoss;
  // Of kAtomForce and kForceComponent: the atom's number in its structure, from 0, or kAllAtoms: each atom of each
  // structure is a test example.
  int64_t atom = 0;
  int component = 0;  // of kForceComponent: 0 x, 1 y, 2 z
};

// INVALID_ARGUMENT naming --test_atom or --test_component, value and range.
absl::Status CheckPotentialTestOptions(const PotentialTestOptions& options);

// A test example: a structure, or one of its atoms.
struct PotentialTest {
  int64_t structure = 0;  // in the test data
  int64_t atom = -1;      // -1: the quantity is the structure's
};

// The test examples, in the order of structures, then atoms. INVALID_ARGUMENT: CheckPotentialTestOptions; a structure
// (named) that lacks the atom, or forces where their error is asked for.
absl::StatusOr<std::vector<PotentialTest>> PotentialTests(const AtomicData& test, const PotentialTestOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_INFLUENCE_POTENTIAL_TESTS_H_
