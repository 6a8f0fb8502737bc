// What ForcePredictor does for one kind of potential; and what kinds share.

#ifndef RUTILE_LIB_POTENTIAL_PREDICTION_FORCE_PREDICTOR_IMPL_H_
#define RUTILE_LIB_POTENTIAL_PREDICTION_FORCE_PREDICTOR_IMPL_H_

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/potential/prediction/force_predictor.h"

namespace rutile {

// The members are those of ForcePredictor.
class ForcePredictor::Impl {
 public:
  virtual ~Impl() = default;
  virtual double cutoff() const = 0;
  virtual bool needs_geometry() const = 0;
  virtual void Predict(const StructureGeometry& geometry, const std::array<bool, 3>& pbc, bool forces,
                       AtomicPrediction* prediction) = 0;
  virtual absl::Status PredictCenters(const StructureGeometry& geometry, int64_t num_centers, bool forces,
                                      AtomicPrediction* prediction, Matrix3* virial, absl::Span<double> atom_virial,
                                      MessageExchange* exchange) = 0;
  virtual int num_messages() const = 0;
  virtual absl::Span<const double> member_energies() const = 0;
  virtual void MemberForces(int m, absl::Span<double> forces) const = 0;
  virtual void PredictFromFeatures(absl::Span<const float> features, absl::Span<const uint8_t> species,
                                   AtomicPrediction* prediction) = 0;
  virtual void PredictFromFeatures(absl::Span<const double> features, absl::Span<const uint8_t> species,
                                   AtomicPrediction* prediction) = 0;
};

// Makes dE/d(strain) symmetric, which only changes rounding, as the energy of an atom does not change under rotation.
inline Matrix3 SymmetricStrain(const Matrix3& strain_gradient) {
  Matrix3 symmetric;
  for (int a = 0; a < 3; ++a) {
    for (int b = 0; b < 3; ++b) {
      symmetric[3 * a + b] = 0.5 * (strain_gradient[3 * a + b] + strain_gradient[3 * b + a]);
    }
  }
  return symmetric;
}

// Sets the energy and its spread from those of members.
inline void SetMeanEnergy(const std::vector<double>& energies, AtomicPrediction* prediction) {
  double sum = 0, square = 0;
  for (const double energy : energies) sum += energy;
  const double mean = sum / energies.size();
  for (const double energy : energies) square += (energy - mean) * (energy - mean);
  prediction->energy = mean;
  prediction->energy_spread = std::sqrt(square / energies.size());
}

// Sets forces and their spreads from those of members, [members][3N].
inline void SetMeanForces(const std::vector<std::vector<double>>& forces, int64_t num_atoms,
                          AtomicPrediction* prediction) {
  const double num_models = static_cast<double>(forces.size());
  prediction->force.assign(3 * num_atoms, 0.0);
  for (const std::vector<double>& force : forces) {
    for (int64_t c = 0; c < 3 * num_atoms; ++c) prediction->force[c] += force[c];
  }
  if (forces.size() == 1) return;
  for (double& f : prediction->force) f /= num_models;
  prediction->force_spread.assign(num_atoms, 0.0);
  for (const std::vector<double>& force : forces) {
    for (int64_t c = 0; c < 3 * num_atoms; ++c) {
      const double d = force[c] - prediction->force[c];
      prediction->force_spread[c / 3] += d * d;
    }
  }
  for (double& s : prediction->force_spread) s = std::sqrt(s / num_models);
}

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_PREDICTION_FORCE_PREDICTOR_IMPL_H_
