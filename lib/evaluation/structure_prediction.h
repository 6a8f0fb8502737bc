// The predictions for one structure, with its reference values.

#ifndef RUTILE_LIB_EVALUATION_STRUCTURE_PREDICTION_H_
#define RUTILE_LIB_EVALUATION_STRUCTURE_PREDICTION_H_

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace rutile {

// Reference and predicted values of a structure with N atoms. Predictions of a committee are means over its members;
// spreads are standard deviations.
struct StructurePrediction {
  std::string name;
  std::string config_type;      // "" if it has none
  std::string composition;      // "Ti2O4": species in the model's order, with their numbers
  int64_t num_atoms = 0;        // N
  bool isolated = false;        // one atom of config type IsolatedAtom, or without neighbors within the cutoff
  double reference_energy = 0;  // eV, total; NaN if the data has none
  double predicted_energy = 0;  // eV, total

  std::vector<uint8_t> element;         // [N] atomic numbers
  std::vector<double> atom_energy;      // [N] eV, predicted
  std::vector<double> reference_force;  // [3N] eV/Angstrom; empty if the data has none
  std::vector<double> predicted_force;  // [3N] eV/Angstrom; empty if none were predicted
  // Stresses in eV/Angstrom^3, row-major, positive in tension.
  std::optional<std::array<double, 9>> reference_stress, predicted_stress;

  std::optional<double> energy_spread;  // eV, total; for a committee
  std::vector<double> force_spread;     // [N] eV/Angstrom; empty unless predicted by a committee

  // Standard deviations that follow from the curvature of the training loss; not set unless asked for.
  std::optional<double> energy_std;     // eV, total
  std::vector<double> atom_energy_std;  // [N] eV
  std::vector<double> force_std;        // [3N] eV/Angstrom, of components

  // The number of atoms with a feature outside the training range; not set if the model does not store that range.
  std::optional<int64_t> atoms_outside;
  // Angstrom, the smallest distance of two atoms; infinity if it was predicted from features.
  double nearest = std::numeric_limits<double>::infinity();

  bool has_force_errors() const { return !reference_force.empty() && !predicted_force.empty(); }
  bool has_stress_errors() const { return reference_stress.has_value() && predicted_stress.has_value(); }
};

}  // namespace rutile

#endif  // RUTILE_LIB_EVALUATION_STRUCTURE_PREDICTION_H_
