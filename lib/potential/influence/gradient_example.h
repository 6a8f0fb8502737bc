// Defines what is differentiated for one example of influence. The fast passes and the reference share it.

#ifndef RUTILE_LIB_POTENTIAL_INFLUENCE_GRADIENT_EXAMPLE_H_
#define RUTILE_LIB_POTENTIAL_INFLUENCE_GRADIENT_EXAMPLE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/influence/potential_tests.h"
#include "lib/potential/model/potential_file.h"
#include "lib/potential/model/task_options.h"

namespace rutile {

// The weights of the terms of a structure's loss. With weight 0, a term is left out and its data is not needed.
struct TermWeights {
  double energy = 1, force = 0, stress = 0;
};

// A scalar to differentiate: a quantity of a structure, or of one of its atoms.
struct GradientExample {
  int64_t structure = 0;
  PotentialQuantity quantity = PotentialQuantity::kLoss;
  int64_t atom = -1;  // for quantities of atoms
  int component = 0;  // for kForceComponent
};

// Computes the gradient of one example by its definition. gradient: [P], overwritten. Products themselves need no
// LibTorch; callers that have it pass this function to them (gradient_reference.h).
using GradientReference = absl::Status (*)(const Potential& potential, const LossOptions& loss,
                                           const TermWeights& weights, const AtomicData& data,
                                           const GradientExample& example, absl::Span<double> gradient);

// The predictions that a quantity depends on.
struct ExampleTerms {
  bool energy = false, force = false, stress = false;
  bool any() const { return energy || force || stress; }
  // True if the structure's geometry is needed; otherwise its features suffice.
  bool derivatives() const { return force || stress; }
};

// Returns the terms of a quantity. Those of a loss are the terms that have a weight and data.
inline ExampleTerms TermsOf(const AtomicData& data, const GradientExample& example, const TermWeights& weights) {
  const int64_t s = example.structure;
  switch (example.quantity) {
    case PotentialQuantity::kEnergy:
      return {true, false, false};
    case PotentialQuantity::kAtomForce:
    case PotentialQuantity::kForceComponent:
      return {false, true, false};
    case PotentialQuantity::kLoss:
      break;
  }
  if (data.weight(s) == 0) return {};
  return {weights.energy > 0 && data.has_energy(s), weights.force > 0 && !data.force(s).empty(),
          weights.stress > 0 && data.has_stress(s)};
}

// Returns the energy per atom less atomic energies, eV, of a structure that has an energy.
inline double EnergyTarget(const Potential& potential, const AtomicData& data, int64_t s) {
  double energy = data.energy(s);
  for (const uint8_t species : data.species(s)) energy -= potential.atomic_energies[species];
  return energy / static_cast<double>(data.num_atoms(s));
}

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_INFLUENCE_GRADIENT_EXAMPLE_H_
