// Writes structures with their predictions as extended XYZ, which ASE reads as the results of a calculator.

#ifndef RUTILE_LIB_EVALUATION_PREDICTION_XYZ_H_
#define RUTILE_LIB_EVALUATION_PREDICTION_XYZ_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "lib/evaluation/structure_prediction.h"
#include "lib/structure/structure.h"

namespace rutile {

// Appends one frame: the structure with its cell, pbc and info, but for what an earlier
// evaluate said of its model (energy_spread, energy_std, select_rank, select_score), and
//   energy, stress, columns forces, energies       what was predicted: eV, eV/Angstrom^3, eV/Angstrom, eV of each atom
//   energy_spread, column forces_spread            of a committee: eV, eV/Angstrom
//   energy_std, columns energies_std, forces_std   standard deviations: eV, eV of each atom, eV/Angstrom
//   column outside                                 1 for an atom outside the training range, else 0
//   REF_energy, REF_stress, column REF_forces      the structure's own labels, where it has them
//   structure_number, structure_name               `number`, and the name of the structure
// Stress is row-major and positive in tension, which are the order and the sign of ASE. All numbers read back to the
// bit.
//
// A number that is not finite is none to most readers, and not an energy to any: a quantity with one is left out.
// Returns false if there was one. outside: [N], or empty if the model stores no range.
bool AppendPredictionXyz(const Structure& structure, const StructurePrediction& prediction,
                         absl::Span<const uint8_t> outside, int64_t number, std::string* out);

}  // namespace rutile

#endif  // RUTILE_LIB_EVALUATION_PREDICTION_XYZ_H_
