// Structures of one isolated atom, which training files of GAP and MACE hold: the atomic energies, not examples.

#ifndef RUTILE_TOOLS_TRAIN_FLAGS_ISOLATED_ATOMS_H_
#define RUTILE_TOOLS_TRAIN_FLAGS_ISOLATED_ATOMS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/train/files/checkpoint_series.h"

namespace rutile {

struct IsolatedAtoms {
  std::vector<bool> left_out;  // [structures] true for those that are neither learned nor compared with; or empty
  bool learned = false;        // isolated atoms are examples like all others
  std::string recorded;        // the flag's value for config.json, "" where the run is what it was without the flag
};

// Does what --isolated_atoms says. A structure of one atom is isolated if its config type is IsolatedAtom, or if it has
// no neighbor within the cutoff, but only beside structures of more atoms. With "auto" it adds those of isolated atoms
// to `atomic_energies`, eV by element, for elements that neither it nor the data holds. held_out: [structures], or
// empty; true for those whose energies nothing may be learned from, these included. of_model: the elements whose atomic
// energies are taken from a model, or from the run that goes on, where no others are found. resumed: the run that goes
// on, if one does; where it chose what to do with isolated atoms and `data` has none, the choice stays. Prints what it
// did. INVALID_ARGUMENT: the flag is given, but no structure is an isolated atom and no such run goes on; or filters
// left nothing but isolated atoms.
absl::StatusOr<IsolatedAtoms> IsolatedAtomsFromFlags(const AtomicData& data, const std::vector<bool>& held_out,
                                                     const std::set<uint8_t>& of_model,
                                                     const std::optional<CheckpointSummary>& resumed,
                                                     std::map<uint8_t, double>* atomic_energies);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_FLAGS_ISOLATED_ATOMS_H_
