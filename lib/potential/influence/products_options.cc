// Checks of potential_products.h, and the weights of terms.

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/potential/influence/potential_products.h"

namespace rutile {
namespace {

absl::Status CheckPoint(const Potential& potential, const WeightedCheckpoint& point) {
  const int64_t num_parameters = potential.shape.num_parameters();
  if (point.parameters.num_elements() != num_parameters) {
    return absl::InvalidArgumentError(absl::StrCat("the checkpoint has ", point.parameters.num_elements(),
                                                   " parameters, but the model has ", num_parameters,
                                                   "; give checkpoints of the model's own run"));
  }
  if (point.preconditioner.num_elements() == 0) return absl::OkStatus();
  if (point.preconditioner.num_elements() != num_parameters) {
    return absl::InvalidArgumentError(absl::StrCat("the preconditioner has ", point.preconditioner.num_elements(),
                                                   " numbers, but the model has ", num_parameters, " parameters"));
  }
  for (const double each : point.preconditioner.ToDoubles()) {
    if (std::isfinite(each) && each >= 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the preconditioner holds ", each, ", expected finite numbers of at least 0"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckPotentialProductsOptions(const PotentialProductsOptions& options) {
  RETURN_IF_ERROR(CheckPotentialTestOptions(options.test));
  RETURN_IF_ERROR(CheckProjectionOptions(options.projection));
  if (options.precision != DType::kF32 && options.precision != DType::kF64) {
    return absl::InvalidArgumentError(absl::StrCat("--precision=", DTypeName(options.precision),
                                                   ": influence of potentials is computed in F32 or F64"));
  }
  if (options.gauss_newton.has_value() &&
      (options.precision != DType::kF64 || options.projection.kind != ProjectionKind::kNone)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--precondition=", options.gauss_newton->ek_fac ? "ek-fac" : "gauss-newton",
                     ": needs --precision=fp64, whose digits it uses up, and no --projection_dim"));
  }
  if (options.num_threads < 1) {
    return absl::InvalidArgumentError(absl::StrCat("--threads=", options.num_threads, ": expected at least 1"));
  }
  return absl::OkStatus();
}

absl::StatusOr<TermWeights> TermWeightsOf(const LossOptions& loss, const std::vector<double>& loss_weight) {
  const bool force = loss.force_weight > 0, stress = loss.stress_weight > 0;
  if (loss_weight.empty()) {
    return TermWeights{loss.energy_weight > 0 ? 1.0 : 0.0, force ? 1.0 : 0.0, stress ? 1.0 : 0.0};
  }
  const size_t terms = 1 + force + stress;
  if (loss_weight.size() != terms) {
    return absl::InvalidArgumentError(absl::StrCat("the checkpoint weighs ", loss_weight.size(),
                                                   " terms of the loss, but the loss has ", terms, ": energy",
                                                   force ? ", force" : "", stress ? ", stress" : ""));
  }
  for (const double weight : loss_weight) {
    if (std::isfinite(weight) && weight >= 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("a term of the loss has the weight ", weight, ", expected a finite number of at least 0"));
  }
  TermWeights weights;
  weights.energy = loss_weight[0];
  weights.force = force ? loss_weight[1] : 0;
  weights.stress = stress ? loss_weight.back() : 0;
  return weights;
}

absl::Status CheckPotentialProducts(const Potential& potential, const WeightedCheckpoint& point,
                                    const PotentialProductsOptions& options) {
  RETURN_IF_ERROR(CheckPotentialProductsOptions(options));
  RETURN_IF_ERROR(CheckPoint(potential, point));
  if (options.gauss_newton.has_value() && point.preconditioner.num_elements() > 0) {
    return absl::InvalidArgumentError("a Gauss-Newton matrix and a preconditioner exclude each other");
  }
  return absl::OkStatus();
}

}  // namespace rutile
