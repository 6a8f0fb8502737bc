// Whether predicted forces and stresses are the derivatives of the predicted energy: a check of the code on the user's
// own model and data.

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

// Forces of some atoms and the stress of each structure that Add is given, in fp64 whatever the models' type, against
// central differences of fourth order of the energy: steps of 3e-5 Angstrom and strains of 3e-5.
class ForceCheck {
 public:
  // atoms: how many of each structure are moved, evenly spread over it.
  explicit ForceCheck(absl::Span<const Potential> models, int atoms = 3);
  ~ForceCheck();

  // Errors of the neighbor search, and elements that the models do not know.
  absl::Status Add(const Structure& structure);

  // What was compared and how far it was off, for people: "9 forces and 6 stresses of 1 structures against ...".
  std::string Summary() const;
  // OK, or FAILED_PRECONDITION naming the first that is off by more than 1e-5 + 1e-5 |value| (forces in eV/Angstrom,
  // stress times volume in eV, each relative to its largest in the structure).
  absl::Status Result() const { return result_; }

 private:
  struct State;
  void Compare(const std::string& what, double predicted, double difference, double scale, double* worst);

  std::unique_ptr<State> state_;
  const int atoms_;
  int64_t num_structures_ = 0, num_forces_ = 0, num_stresses_ = 0;
  double worst_force_ = 0, worst_stress_ = 0;  // eV/Angstrom, eV
  absl::Status result_;
};

// OK when the forces of every structure add up to zero within the rounding of `precision`, that of the prediction: 1e-5
// eV/Angstrom (F32) or 1e-10 (F64) times (atoms + sum of |F|). Else FAILED_PRECONDITION naming the first.
absl::Status CheckNetForces(absl::Span<const StructurePrediction> predictions, DType precision);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_PREDICTION_FORCE_CHECK_H_
