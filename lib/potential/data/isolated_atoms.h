// Structures of one isolated atom: references that other energies are compared with, and no examples to learn from.

#ifndef RUTILE_LIB_POTENTIAL_DATA_ISOLATED_ATOMS_H_
#define RUTILE_LIB_POTENTIAL_DATA_ISOLATED_ATOMS_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// Metadata of models: "learn" if isolated atoms were examples like all others.
inline constexpr char kIsolatedAtomsKey[] = "isolated_atoms";
inline constexpr char kLearnsIsolatedAtoms[] = "learn";

// True if the model learned isolated atoms, so that its errors count them.
bool LearnedIsolatedAtoms(const Metadata& model);

// True for a structure of one atom that is isolated by its config type, or has no neighbor. num_pairs returns the
// number of its pairs within the descriptor's cutoff, and is called only if they decide; its error is returned.
absl::StatusOr<bool> IsIsolated(int64_t num_atoms, absl::string_view config_type,
                                absl::FunctionRef<absl::StatusOr<int64_t>()> num_pairs);

// IsIsolated of structure s, within the cutoff of the data's descriptor.
absl::StatusOr<bool> IsIsolated(const AtomicData& data, int64_t s);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_DATA_ISOLATED_ATOMS_H_
