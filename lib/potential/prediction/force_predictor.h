// Energies, forces and stress of structures from trained potentials: one, or a committee.

#ifndef RUTILE_LIB_POTENTIAL_PREDICTION_FORCE_PREDICTOR_H_
#define RUTILE_LIB_POTENTIAL_PREDICTION_FORCE_PREDICTOR_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/descriptor/descriptor_derivatives.h"
#include "lib/potential/model/potential_file.h"
#include "lib/structure/structure.h"

namespace rutile {

// What is said of one structure of N atoms. Of a committee: means over its members, and their spread, the standard
// deviation (divided by the number of members; of forces the root of the mean square length of F_member - F_mean).
struct AtomicPrediction {
  double energy = 0;                 // eV, total, atomic energies included
  double energy_spread = 0;          // eV, total; 0 for one model
  std::vector<double> atom_energy;   // [N] eV, atomic energies included
  std::vector<double> force;         // [3N] eV/Angstrom, or empty: not asked for
  std::vector<double> force_spread;  // [N] eV/Angstrom, or empty: not asked for, or one model
  std::optional<Matrix3> stress;  // eV/Angstrom^3, symmetric, positive in tension; with forces, in 3-D periodic cells
  std::vector<uint8_t> outside;   // [N] 1: a feature lies outside what training has seen. Empty: no model says
};

// OK when the models can form a committee: INVALID_ARGUMENT naming the first that differs from model 0 in its
// descriptor. names: of the files, for the message.
absl::Status CheckCommittee(absl::Span<const Potential> models, absl::Span<const std::string> names);

// The type that a committee computes in: F32 when all models have such parameters, else F64.
DType CommitteePrecision(absl::Span<const Potential> models);

// The same potential with parameters of another type (F32 or F64).
Potential WithPrecision(const Potential& potential, DType dtype);

// Computes in CommitteePrecision. One thread at a time may use an object; memory grows to the largest structure seen
// and is kept.
class ForcePredictor {
 public:
  // At least one model; CHECK-fails when they cannot form a committee. `models` are not referred to later.
  explicit ForcePredictor(absl::Span<const Potential> models);
  ~ForcePredictor();

  // Neighbors up to here are needed, Angstrom.
  double cutoff() const;

  // All that geometry tells; forces and stress only when they are wanted.
  void Predict(const StructureGeometry& geometry, const std::array<bool, 3>& pbc, bool forces,
               AtomicPrediction* prediction);

  // What features tell: no forces. features: [N, F] as computed, not scaled; species: [N].
  void PredictFromFeatures(absl::Span<const float> features, absl::Span<const uint8_t> species,
                           AtomicPrediction* prediction);
  void PredictFromFeatures(absl::Span<const double> features, absl::Span<const uint8_t> species,
                           AtomicPrediction* prediction);

 private:
  class Impl;
  template <typename T>
  class TypedImpl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_PREDICTION_FORCE_PREDICTOR_H_
