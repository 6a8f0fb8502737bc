// Predicts energies, forces and stress of structures from a trained potential or a committee of them.
//
// Example, with the geometry of a structure (descriptor_derivatives.h):
//
//   ASSIGN_OR_RETURN(const Potential potential, ReadPotential("potential.safetensors"));
//   ForcePredictor predictor(absl::MakeConstSpan(&potential, 1));
//   AtomicPrediction prediction;
//   predictor.Predict(geometry, structure.pbc, /*forces=*/true, &prediction);
//   LOG(INFO) << prediction.energy << " eV, force on atom 0 along x: " << prediction.force[0] << " eV/Angstrom";

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
#include "lib/potential/prediction/message_steps.h"
#include "lib/structure/structure.h"

namespace rutile {

// The prediction for one structure of N atoms. For a committee, values are means over its members, and spreads are
// standard deviations (divided by the number of members; for forces, the root of the mean square length of F_member -
// F_mean).
struct AtomicPrediction {
  double energy = 0;                 // eV, total, atomic energies and the repulsion of pairs included
  double energy_spread = 0;          // eV, total; 0 for one model
  std::vector<double> atom_energy;   // [N] eV, atomic energies and half of each pair's repulsion included
  std::vector<double> force;         // [3N] eV/Angstrom; empty if not asked for
  std::vector<double> force_spread;  // [N] eV/Angstrom; empty if not asked for, or for one model
  // eV/Angstrom^3, symmetric, positive in tension; set with forces in 3-D periodic cells
  std::optional<Matrix3> stress;
  std::vector<uint8_t> outside;  // [N] 1 if a feature lies outside the training range; empty if no model has a range
};

// Returns the smallest distance of a pair in Angstrom; infinity without pairs.
double NearestDistance(const StructureGeometry& geometry);

// Sets marks[i] of the first atoms, as many as there are marks, which have a neighbor at or below min_cutoff, Angstrom.
// The descriptor ignores such a neighbor, so that features look as if it were not there, and none need be outside. It
// looks at each pair: who searched for neighbors, and so knows the smallest distance, calls it where one is that small.
void MarkAtomsTooNear(const StructureGeometry& geometry, double min_cutoff, absl::Span<uint8_t> marks);

// OK if the models can form a committee. INVALID_ARGUMENT naming the first model whose descriptor or kind differs from
// that of model 0. names: those of the files, for the message.
absl::Status CheckCommittee(absl::Span<const Potential> models, absl::Span<const std::string> names);

// Returns the type that a committee computes in: F32 if all models have such parameters, else F64.
DType CommitteePrecision(absl::Span<const Potential> models);

// Returns the potential with parameters of another type (F32 or F64); CHECK-fails if it is a MACE model and the type
// F32.
Potential WithPrecision(const Potential& potential, DType dtype);

// Predicts with one potential or a committee, in CommitteePrecision. One thread at a time may use an object; memory
// grows to that of the largest structure and is reused.
class ForcePredictor {
 public:
  // models: at least one; CHECK-fails if they cannot form a committee. They are copied.
  explicit ForcePredictor(absl::Span<const Potential> models);
  ~ForcePredictor();

  // The radius in Angstrom within which neighbors are needed.
  double cutoff() const;

  // Predicts everything from the geometry; forces and stress only if `forces`.
  void Predict(const StructureGeometry& geometry, const std::array<bool, 3>& pbc, bool forces,
               AtomicPrediction* prediction);

  // Predicts for the first num_centers atoms alone, of which the others are neighbors: those of another process, or
  // images of atoms that the caller made. Only the pairs of centers are looked at; other atoms need none. `prediction`
  // holds energies and `outside` of the centers, [num_centers], and the total of their energies; with `forces` what the
  // centers exert on all atoms, [3N], and no stress. The sums over several calls with other centers are those of
  // the whole; spreads are not, for which the values of members are there. virial: sum over pairs of dE/dr_ij (outer)
  // r_ij in eV, symmetric, in a cell of any kind; or null. atom_virial: [N, 9], overwritten by what each atom has of
  // the virial, half of each pair's share, of the mean over members; or empty. Both are only allowed with `forces`.
  //
  // With two layers centers need what their neighbors send. Without an exchange, these have pairs as well: they follow
  // the centers and are the rest of the first pairs.num_atoms() atoms. With one, several processes call this together.
  // OK, or the errors of the exchange.
  absl::Status PredictCenters(const StructureGeometry& geometry, int64_t num_centers, bool forces,
                              AtomicPrediction* prediction, Matrix3* virial, absl::Span<double> atom_virial = {},
                              MessageExchange* exchange = nullptr);

  // Returns how many numbers an atom sends to its neighbors, of all members; 0 if all have one layer.
  int num_messages() const;

  // Returns what each member gave in the last call of the above, [members] in eV.
  absl::Span<const double> member_energies() const;
  // Copies the forces of member m in that call, which had `forces`: [3N] eV/Angstrom.
  void MemberForces(int m, absl::Span<double> forces) const;

  // True if a member has a repulsion of pairs, so that features alone do not give its energy.
  bool needs_geometry() const;

  // Predicts from features, without forces; CHECK-fails if needs_geometry(). features: [N, F] as computed, not scaled;
  // species: [N].
  void PredictFromFeatures(absl::Span<const float> features, absl::Span<const uint8_t> species,
                           AtomicPrediction* prediction);
  void PredictFromFeatures(absl::Span<const double> features, absl::Span<const uint8_t> species,
                           AtomicPrediction* prediction);

 private:
  class Impl;
  template <typename T>
  class TypedImpl;
  class MaceImpl;
  // Of potentials that are MACE models (mace_predictor.cc).
  static std::unique_ptr<Impl> MakeMaceImpl(absl::Span<const Potential> models);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_PREDICTION_FORCE_PREDICTOR_H_
