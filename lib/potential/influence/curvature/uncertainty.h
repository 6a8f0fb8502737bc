// Standard deviations of a potential's predictions that follow from the curvature of its training loss: the posterior
// of its parameters by Laplace's approximation, for predictions linear in the parameters (D. J. C. MacKay, Neural
// Computation 4, 448 (1992); all parameters in place of the last layer's, F. Bigi et al., 2024).
//
// With the gradient g of a prediction by the parameters and K of curvature_file.h, its variance is scale^2 g^T K g. It
// knows what the training set leaves open, not what no such model could fit.

#ifndef RUTILE_LIB_POTENTIAL_INFLUENCE_CURVATURE_UNCERTAINTY_H_
#define RUTILE_LIB_POTENTIAL_INFLUENCE_CURVATURE_UNCERTAINTY_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/descriptor/descriptor_derivatives.h"
#include "lib/machine/parallel_for.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/influence/curvature/curvature_file.h"
#include "lib/potential/influence/gradient_rows.h"

namespace rutile {

// What is asked for besides the energy of a structure.
struct UncertaintyOptions {
  bool atoms = false;        // the energy of each atom
  bool forces = false;       // each component of each force
  int64_t force_stride = 1;  // only every so many components of forces; the others are NaN
};

// Standard deviations of the predictions for a structure of N atoms.
struct StructureUncertainty {
  double energy = 0;                // eV, total
  std::vector<double> atom_energy;  // [N] eV, or empty
  std::vector<double> force;        // [3N] eV/Angstrom, or empty
  std::vector<double>
      energy_row;  // [C] dE/d(parameters) by the root of K: scalar products of two are covariances / scale^2
};

// Computes uncertainties in one thread. One thread at a time may use an object.
class UncertaintyPredictor {
 public:
  // formulas: of the potential; curvature: of the same (CheckCurvatureOf). Neither is owned.
  UncertaintyPredictor(const GradientFormulas& formulas, const Curvature& curvature);

  // Forces cost a gradient of all parameters for each component. geometry: not used after the call.
  void Predict(const StructureGeometry& geometry, const UncertaintyOptions& options, StructureUncertainty* result);

 private:
  // Appends the columns that count of gradient_ to rows_.
  void AddRow();
  // Adds to `to` scale times the deviation of each row, and moves the rows to solved_, multiplied by the root of K.
  void TakeDeviations(double scale, std::vector<double>* to);

  const Curvature& curvature_;
  const int64_t size_;
  GradientRows gradients_;
  std::vector<double> gradient_;  // [P]
  std::vector<double> rows_, solved_;
  std::vector<double> slopes_;  // [3N]
  std::vector<double> energy_;
};

// Errors of predictions, predicted less reference, and their uncertainties.
struct ErrorsWithUncertainty {
  std::vector<double> error, deviation;
};

struct CalibrationData {
  ErrorsWithUncertainty energy;  // per atom, eV
  ErrorsWithUncertainty force;   // components, eV/Angstrom
  // Components that symmetry holds at zero whatever the parameters are, which say nothing of scales.
  int64_t num_fixed = 0;
};

// Computes errors and uncertainties of these structures with the curvature's present scales: energies where the data
// has them and, where it has forces, at most about `max_force_components` components of all. Labels are those that the
// networks learn (LearnedLabels). Errors are those of GradientRows::Predict.
absl::StatusOr<CalibrationData> PredictForCalibration(const GradientFormulas& formulas, const Curvature& curvature,
                                                      const AtomicData& data, absl::Span<const int64_t> structures,
                                                      int64_t max_force_components, ThreadPool* pool);

// Returns the factor that makes the mean of (error / (factor deviation))^2 one; NaN of no errors.
double ScaleOf(const ErrorsWithUncertainty& errors);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_INFLUENCE_CURVATURE_UNCERTAINTY_H_
