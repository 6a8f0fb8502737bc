// Predicts energies of structures from a trained potential and their features, where ForcePredictor would do more than
// is wanted.

#ifndef RUTILE_LIB_POTENTIAL_PREDICTION_ENERGY_PREDICTOR_H_
#define RUTILE_LIB_POTENTIAL_PREDICTION_ENERGY_PREDICTOR_H_

#include <cstdint>

#include "absl/types/span.h"
#include "lib/potential/model/potential_file.h"
#include "lib/potential/prediction/force_predictor.h"

namespace rutile {

// Predicts with one potential without a repulsion of pairs, in the type of its parameters. One thread at a time may use
// an object.
class EnergyPredictor {
 public:
  explicit EnergyPredictor(const Potential& potential) : predictor_(absl::MakeConstSpan(&potential, 1)) {}

  // Returns the total energy in eV, atomic energies included. features: [N, F] as computed, not scaled, float or
  // double; species: [N].
  template <typename Features>
  double Predict(const Features& features, absl::Span<const uint8_t> species) {
    predictor_.PredictFromFeatures(features, species, &prediction_);
    return prediction_.energy;
  }

 private:
  ForcePredictor predictor_;
  AtomicPrediction prediction_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_PREDICTION_ENERGY_PREDICTOR_H_
