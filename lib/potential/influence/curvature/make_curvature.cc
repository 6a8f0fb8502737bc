#include "lib/potential/influence/curvature/make_curvature.h"

#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/machine/parallel_for.h"
#include "lib/potential/influence/curvature/gauss_newton.h"
#include "lib/potential/model/labels/learned_labels.h"

namespace rutile {
namespace {

// Components of forces that the scale is calibrated on, about: each costs a gradient.
constexpr int64_t kMaxForceComponents = 6000;

// Multiplies a scale and deviations so that the errors have them; keeps them if there are no errors.
absl::Status Calibrate(const char* what, ErrorsWithUncertainty* errors, double* scale) {
  if (errors->error.empty()) return absl::OkStatus();
  const double factor = ScaleOf(*errors);
  if (!std::isfinite(factor) || factor <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the uncertainty of ", what, " cannot be calibrated: ", errors->error.size(),
                     " errors give the scale ", factor * *scale, "; the model diverged, or fits them exactly"));
  }
  *scale *= factor;
  for (double& each : errors->deviation) each *= factor;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<MadeCurvature> MakeCurvature(const Potential& potential, const AtomicData& given,
                                            const AtomicData& calibration, absl::Span<const int64_t> held_out,
                                            const WeightedCheckpoint& point, const std::vector<ColumnRange>& columns,
                                            const PotentialProductsOptions& options) {
  CHECK(options.gauss_newton.has_value());
  RETURN_IF_ERROR(CheckPotentialProducts(potential, point, options));
  if (options.gauss_newton->ek_fac) {
    return absl::InvalidArgumentError("a curvature file holds the whole Gauss-Newton matrix, and EK-FAC has blocks");
  }
  ASSIGN_OR_RETURN(const AtomicData train, LearnedLabels(given, potential.repulsion, options.num_threads));
  ASSIGN_OR_RETURN(const TermWeights weights, TermWeightsOf(options.loss, point.loss_weight));
  Potential at_point = potential;
  at_point.parameters = point.parameters;
  const GradientFormulas formulas(at_point, options.loss, weights, options.angular);
  ThreadPool pool(options.num_threads);
  GaussNewtonOptions uncoupled = *options.gauss_newton;
  uncoupled.coupling = LossCoupling::kNone;
  ASSIGN_OR_RETURN(const std::unique_ptr<GaussNewton> matrix,
                   GaussNewton::Make(formulas, train, columns, uncoupled, &pool));
  MadeCurvature made;
  made.notes = matrix->Describe();
  made.noise_scale = std::sqrt(matrix->noise());
  if (!std::isfinite(made.noise_scale) || made.noise_scale <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the mean square of the training errors is ", matrix->noise(),
                     ", of which no uncertainty follows: the model diverged, or fits its training set exactly"));
  }
  Curvature& curvature = made.curvature;
  curvature.model = ModelDigest(at_point);
  curvature.columns = columns;
  curvature.inverse = matrix->TakeInverseOfSum();
  curvature.energy_scale = curvature.force_scale = made.noise_scale;
  curvature.energy_curvature = weights.energy * formulas.energy_loss.Curvature(0);
  if (held_out.empty()) return made;
  ASSIGN_OR_RETURN(const AtomicData labels, LearnedLabels(calibration, potential.repulsion, options.num_threads));
  ASSIGN_OR_RETURN(made.calibration,
                   PredictForCalibration(formulas, curvature, labels, held_out, kMaxForceComponents, &pool));
  RETURN_IF_ERROR(Calibrate("energies", &made.calibration.energy, &curvature.energy_scale));
  RETURN_IF_ERROR(Calibrate("forces", &made.calibration.force, &curvature.force_scale));
  return made;
}

}  // namespace rutile
