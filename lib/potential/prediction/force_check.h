// Checks that predicted forces and stresses are the derivatives of the predicted energy. This is a check of the code,
// on the user's own model and data.

#ifndef RUTILE_LIB_POTENTIAL_PREDICTION_FORCE_CHECK_H_
#define RUTILE_LIB_POTENTIAL_PREDICTION_FORCE_CHECK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/evaluation/structure_prediction.h"
#include "lib/potential/model/potential_file.h"
#include "lib/structure/structure.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Compares forces of some atoms, and the stress, of each structure that is passed to Add with central differences of
// fourth order of the energy, with steps of 3e-5 Angstrom and strains of 3e-5. All is computed in fp64, whatever the
// models' type.
class ForceCheck {
 public:
  // atoms: the number of atoms that are moved in each structure, spread evenly over it.
  explicit ForceCheck(absl::Span<const Potential> models, int atoms = 3);
  ~ForceCheck();

  // Checks one structure. Errors of the neighbor search, and elements that the models do not know.
  absl::Status Add(const Structure& structure);

  // Tells people what was compared and the largest differences: "9 forces and 6 stresses of 1 structures against ...".
  std::string Summary() const;
  // OK, or FAILED_PRECONDITION naming the first value that is off by more than 1e-5 + 1e-5 |value| (forces in
  // eV/Angstrom, stress times volume in eV, each relative to its largest in the structure).
  absl::Status Result() const { return result_; }

 private:
  struct State;
  void Compare(const std::string& what, double predicted, double difference, double scale, double* worst);

  std::unique_ptr<State> state_;
  const int atoms_;
  int64_t num_structures_ = 0, num_forces_ = 0, num_stresses_ = 0;
  double worst_force_ = 0, worst_stress_ = 0;  // eV/Angstrom; eV
  absl::Status result_;
};

// OK if the forces of every structure add up to zero within the rounding of `precision`, the type of the prediction:
// 1e-5 eV/Angstrom (F32) or 1e-10 (F64) times (atoms + sum of |F|). Otherwise FAILED_PRECONDITION naming the first
// structure.
absl::Status CheckNetForces(absl::Span<const StructurePrediction> predictions, DType precision);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_PREDICTION_FORCE_CHECK_H_
