#include "tools/train/data/atomic_energies.h"

#include <cmath>

#include "lib/base/logging.h"
#include "lib/potential/model/labels/scaling.h"

namespace rutile {
namespace {

// Returns the mean over atoms of the model's elements of what it expects beyond their atomic energies here, eV per
// atom.
double MeanBinding(absl::Span<const uint8_t> species, const std::vector<double>& atomic, const BaseEnergies& base,
                   const CompositionEnergies& train) {
  const size_t n = species.size();
  double sum = 0, atoms = 0;
  for (size_t s = 0; s < train.energies.size(); ++s) {
    for (size_t i = 0; i < n; ++i) {
      const auto known = base.atomic.find(species[i]);
      if (known == base.atomic.end()) continue;
      const double weight = train.weights[s] * static_cast<double>(train.counts[s * n + i]);
      sum += weight * (known->second + base.shift - atomic[i]);
      atoms += weight;
    }
  }
  return atoms == 0 ? 0 : sum / atoms;
}

// True if compositions determine the energy of element k: the fit of least norm to energies of 1 eV for each of its
// atoms finds them again. So does an element that does not occur.
bool IsDetermined(CompositionEnergies structures, int num_species, int k) {
  bool occurs = false;
  for (size_t s = 0; s < structures.energies.size(); ++s) {
    structures.energies[s] = static_cast<double>(structures.counts[s * num_species + k]);
    occurs = occurs || structures.energies[s] > 0;
  }
  constexpr double kClose = 1e-4;
  return !occurs ||
         std::abs(FitAtomicEnergies(structures.energies, structures.counts, num_species, structures.weights)[k] - 1) <
             kClose;
}

}  // namespace

AtomicEnergies ChooseAtomicEnergies(absl::Span<const uint8_t> species, const std::map<uint8_t, double>& given,
                                    const BaseEnergies& base, const CompositionEnergies& train) {
  const size_t n = species.size(), structures = train.energies.size();
  CHECK_EQ(train.counts.size(), structures * n);
  CHECK_EQ(train.weights.size(), structures);
  AtomicEnergies chosen = {std::vector<double>(n, 0.0), std::vector<AtomicEnergyOrigin>(n, AtomicEnergyOrigin::kFitted),
                           std::vector<bool>(n, true)};
  std::vector<size_t> fitted;
  for (size_t i = 0; i < n; ++i) {
    const auto fixed = given.find(species[i]), known = base.atomic.find(species[i]);
    if (fixed != given.end()) {
      chosen.values[i] = fixed->second;
      chosen.origin[i] = AtomicEnergyOrigin::kGiven;
    } else if (known != base.atomic.end()) {
      chosen.values[i] = known->second;
      chosen.origin[i] = AtomicEnergyOrigin::kModel;
    } else {
      fitted.push_back(i);
    }
  }
  if (fitted.empty() || structures == 0) return chosen;
  const double binding = MeanBinding(species, chosen.values, base, train);
  // [species] eV: what an atom counts with beside its atomic energy, where that is fitted, and all of it, where not.
  std::vector<double> expected(n, binding);
  for (size_t i = 0; i < n; ++i) {
    const auto known = base.atomic.find(species[i]);
    if (known != base.atomic.end()) {
      expected[i] = known->second + base.shift;
    } else if (chosen.origin[i] == AtomicEnergyOrigin::kGiven) {
      expected[i] += chosen.values[i];
    }
  }
  CompositionEnergies rest;
  for (size_t s = 0; s < structures; ++s) {
    if (train.weights[s] == 0) continue;
    double atoms = 0, fitted_atoms = 0, energy = train.energies[s];
    for (size_t i = 0; i < n; ++i) {
      atoms += static_cast<double>(train.counts[s * n + i]);
      energy -= static_cast<double>(train.counts[s * n + i]) * expected[i];
    }
    for (const size_t i : fitted) fitted_atoms += static_cast<double>(train.counts[s * n + i]);
    if (fitted_atoms == 0) continue;
    for (const size_t i : fitted) rest.counts.push_back(train.counts[s * n + i]);
    rest.energies.push_back(energy);
    // The fit divides by the atoms that it sees. Errors are to be those per atom of the structure.
    const double share = fitted_atoms / atoms;
    rest.weights.push_back(train.weights[s] * share * share);
  }
  const int count = static_cast<int>(fitted.size());
  const std::vector<double> values = FitAtomicEnergies(rest.energies, rest.counts, count, rest.weights);
  for (int k = 0; k < count; ++k) {
    chosen.values[fitted[k]] = values[k];
    chosen.determined[fitted[k]] = IsDetermined(rest, count, k);
  }
  return chosen;
}

}  // namespace rutile
