// Chooses the atomic energies of a run: some elements' are fixed, and those of the others are fitted.

#ifndef RUTILE_TOOLS_TRAIN_DATA_ATOMIC_ENERGIES_H_
#define RUTILE_TOOLS_TRAIN_DATA_ATOMIC_ENERGIES_H_

#include <cstdint>
#include <map>
#include <vector>

#include "absl/types/span.h"

namespace rutile {

// The energies of the model that a run starts from.
struct BaseEnergies {
  std::map<uint8_t, double> atomic;  // eV, by element; empty: the run starts from no model
  double shift = 0;                  // eV per atom: the middle of what its networks add to the atomic energies
};

// given: that user, files or isolated atoms say. model: that the model which the run starts from has. fitted: to the
// training structures.
enum class AtomicEnergyOrigin { kGiven, kModel, kFitted };

struct AtomicEnergies {
  std::vector<double> values;              // [species] eV
  std::vector<AtomicEnergyOrigin> origin;  // [species]
  // [species] false for an element that occurs and whose energy was fitted, although the compositions do not determine
  // it: the sum over a structure means something then, and the element's own energy does not.
  std::vector<bool> determined;
};

// Energies of structures to fit atomic energies to.
struct CompositionEnergies {
  std::vector<double> energies;  // [structures] eV, total
  std::vector<int64_t> counts;   // [structures, species] atoms
  std::vector<double> weights;   // [structures] >= 0: 2 counts as the structure twice, and 0 as no structure
};

// Takes the atomic energies of `species` (atomic numbers) from `given`, else from `base`, and fits those of the others
// to `train` with these fixed, by least squares of energies per atom, as FitAtomicEnergies does; the solution of least
// norm is one among the fitted elements only. Without structures, these are 0.
//
// Atoms of elements that the base model knows count with what it expects of them, base.atomic + base.shift, and not
// with their atomic energies: it is what its networks predict for a start. The binding that is left after the run's
// atomic energies, in the mean over these atoms, is taken for that of the other elements, too, so that the fitted
// energies are of the same reference as the model's.
AtomicEnergies ChooseAtomicEnergies(absl::Span<const uint8_t> species, const std::map<uint8_t, double>& given,
                                    const BaseEnergies& base, const CompositionEnergies& train);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_DATA_ATOMIC_ENERGIES_H_
