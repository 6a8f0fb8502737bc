#include "lib/testing/gradient_check.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "lib/base/random.h"
#include "lib/base/status_macros.h"
#include "lib/task/torch/gradient_comparison.h"
#include "lib/task/torch/reference_gradients.h"
#include "lib/tensorfile/tensorfile_torch.h"

namespace rutile {
namespace {

// Returns the sums of each term at parameters + step * direction, in fp64.
std::vector<double> TermSumsAt(const Task& task, const std::vector<double>& parameters,
                               const std::vector<double>& direction, double step, const NamedTensors& batch) {
  std::vector<double> moved = parameters;
  for (size_t i = 0; i < moved.size(); ++i) moved[i] += step * direction[i];
  const at::Tensor losses = task.ExampleLosses(ToTorch(Tensor::Of(moved)), batch).to(at::kDouble);
  const at::Tensor sums = losses.detach().sum(0).contiguous();
  return std::vector<double>(sums.data_ptr<double>(), sums.data_ptr<double>() + sums.numel());
}

}  // namespace

absl::Status CheckGradients(Task& task, const Tensor& parameters, const NamedTensors& batch,
                            const GradientCheckOptions& options) {
  const double tolerance = options.tolerance > 0 ? options.tolerance : ReferenceTolerance(parameters.dtype());
  RETURN_IF_ERROR(CheckAgainstReference(task, parameters, batch, tolerance));

  const std::vector<LossTerm> terms = task.terms();
  std::vector<Tensor> gradients;
  for (size_t t = 0; t < terms.size(); ++t) gradients.push_back(Tensor::Zeros(parameters.dtype(), parameters.shape()));
  TermSums sums(static_cast<int>(terms.size()));
  RETURN_IF_ERROR(ReferenceGradients(task, parameters, batch, absl::MakeSpan(gradients), &sums));

  ASSIGN_OR_RETURN(const NamedTensors complete, task.CompleteBatch(batch));
  const std::vector<double> at = parameters.ToDoubles();
  for (int k = 0; k < options.num_directions; ++k) {
    RandomStream stream(options.seed, "gradient_check", k);
    std::vector<double> direction(at.size());
    double length = 0;
    for (double& component : direction) {
      component = stream.Normal();
      length += component * component;
    }
    for (double& component : direction) component /= std::sqrt(length);
    const std::vector<double> above = TermSumsAt(task, at, direction, options.step, complete);
    const std::vector<double> below = TermSumsAt(task, at, direction, -options.step, complete);
    for (size_t t = 0; t < terms.size(); ++t) {
      const std::vector<double> gradient = gradients[t].ToDoubles();
      double along = 0, norm = 0;
      for (size_t i = 0; i < at.size(); ++i) {
        along += gradient[i] * direction[i];
        norm += gradient[i] * gradient[i];
      }
      const double difference = (above[t] - below[t]) / (2 * options.step);
      // The error from rounding the two sums alone.
      const double rounding = 1e-15 * (std::abs(above[t]) + std::abs(below[t])) / options.step;
      if (!(std::abs(along - difference) <= options.difference_tolerance * std::sqrt(norm) + 10 * rounding)) {
        return absl::FailedPreconditionError(absl::StrCat(
            "d ", terms[t].name, " along random direction ", k, " is ", along, ", but central differences give ",
            difference, " (length of the gradient ", std::sqrt(norm), "): ExampleLosses is not differentiated right"));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace rutile
