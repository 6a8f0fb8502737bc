// Energies of structures from a trained potential and their features.

#ifndef RUTILE_LIB_POTENTIAL_ENERGY_PREDICTOR_H_
#define RUTILE_LIB_POTENTIAL_ENERGY_PREDICTOR_H_

#include <cstdint>
#include <memory>

#include "absl/types/span.h"
#include "lib/potential/potential_file.h"

namespace rutile {

// Computes in the type of the potential's parameters. One thread at a time may use an object.
class EnergyPredictor {
 public:
  explicit EnergyPredictor(const Potential& potential);
  ~EnergyPredictor();

  // Total energy in eV, atomic energies included. features: [N, F] as computed, not scaled; species: [N].
  double Predict(absl::Span<const float> features, absl::Span<const uint8_t> species);
  double Predict(absl::Span<const double> features, absl::Span<const uint8_t> species);

 private:
  class Impl;
  template <typename T>
  class TypedImpl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_ENERGY_PREDICTOR_H_
