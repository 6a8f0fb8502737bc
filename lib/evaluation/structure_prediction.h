// One structure and what was predicted for it, beside what the data says.

#ifndef RUTILE_LIB_EVALUATION_STRUCTURE_PREDICTION_H_
#define RUTILE_LIB_EVALUATION_STRUCTURE_PREDICTION_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rutile {

// N atoms. Predictions of a committee are means over its members; spreads are standard deviations.
struct StructurePrediction {
  std::string name;
  std::string config_type;      // "" where it has none
  std::string composition;      // "Ti2O4": species in the model's order, with their numbers
  int64_t num_atoms = 0;        // N
  double reference_energy = 0;  // eV, total; NaN where the data has none
  double predicted_energy = 0;  // eV, total

  std::vector<uint8_t> element;         // [N] atomic numbers
  std::vector<double> atom_energy;      // [N] eV, predicted
  std::vector<double> reference_force;  // [3N] eV/Angstrom, or empty: the data has none
  std::vector<double> predicted_force;  // [3N] eV/Angstrom, or empty: none were predicted
  // eV/Angstrom^3, row-major, positive in tension.
  std::optional<std::array<double, 9>> reference_stress, predicted_stress;

  std::optional<double> energy_spread;  // eV, total; of a committee
  std::vector<double> force_spread;     // [N] eV/Angstrom; of a committee, else empty

  // Atoms with a feature outside what training has seen; nothing when the model does not know what it has seen.
  std::optional<int64_t> atoms_outside;

  bool has_force_errors() const { return !reference_force.empty() && !predicted_force.empty(); }
  bool has_stress_errors() const { return reference_stress.has_value() && predicted_stress.has_value(); }
};

}  // namespace rutile

#endif  // RUTILE_LIB_EVALUATION_STRUCTURE_PREDICTION_H_
