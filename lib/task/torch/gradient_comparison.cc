#include "lib/task/torch/gradient_comparison.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/task/precision.h"
#include "lib/task/torch/reference_gradients.h"

namespace rutile {
namespace {

double RelativeDifference(double actual, double expected, double scale) {
  const double difference = std::abs(actual - expected);
  return std::isfinite(difference) ? difference / std::max(scale, 1e-30) : std::numeric_limits<double>::infinity();
}

absl::Status Disagree(absl::string_view what, double actual, double expected, double relative, double tolerance) {
  return absl::FailedPreconditionError(
      absl::StrCat("the fast gradient does not agree with the reference: ", what, " is ", actual, ", expected ",
                   expected, " (relative difference ", relative, ", allowed ", tolerance,
                   "); this is a bug worth reporting, and --compile_mode=none trains with the reference"));
}

absl::Status NotFinite(absl::string_view what, double actual, double expected, DType dtype) {
  return absl::OutOfRangeError(absl::StrCat(what, " is ", actual, ", by the reference ", expected,
                                            ": a label or a parameter is not finite, or too large for ",
                                            kPrecisionNames.Name(PrecisionOf(dtype))));
}

}  // namespace

std::string ParameterLocation(absl::Span<const ParameterSlice> slices, int64_t position) {
  for (const ParameterSlice& slice : slices) {
    int64_t rest = position - slice.offset;
    std::vector<int64_t> index(slice.shape.size());
    if (rest < 0) continue;
    for (size_t d = slice.shape.size(); d-- > 0;) {
      if (slice.shape[d] == 0) break;
      index[d] = rest % slice.shape[d];
      rest /= slice.shape[d];
    }
    if (rest == 0) return absl::StrCat(slice.name, "[", absl::StrJoin(index, ", "), "]");
  }
  return absl::StrCat("parameter ", position);
}

GradientDifference CompareGradients(absl::Span<const ParameterSlice> slices, const Tensor& actual,
                                    const Tensor& expected) {
  CHECK_EQ(actual.num_elements(), expected.num_elements());
  const std::vector<double> a = actual.ToDoubles(), e = expected.ToDoubles();
  double scale = 0;
  for (const double value : e) scale = std::max(scale, std::abs(value));
  GradientDifference worst;
  int64_t position = -1;
  for (size_t i = 0; i < a.size(); ++i) {
    const double relative = RelativeDifference(a[i], e[i], scale);
    if (relative <= worst.relative) continue;
    worst.relative = relative;
    worst.actual = a[i];
    worst.expected = e[i];
    position = static_cast<int64_t>(i);
  }
  if (position >= 0) worst.location = ParameterLocation(slices, position);
  return worst;
}

absl::Status CheckAgainstReference(const Task& task, const AddGradients& fast, const Tensor& parameters,
                                   const NamedTensors& batch, double tolerance) {
  const std::vector<LossTerm> terms = task.terms();
  const auto num_terms = static_cast<int>(terms.size());
  TermSums sums(num_terms), reference_sums(num_terms);
  std::vector<Tensor> gradients, reference;
  for (int t = 0; t < num_terms; ++t) {
    gradients.push_back(Tensor::Zeros(parameters.dtype(), parameters.shape()));
    reference.push_back(Tensor::Zeros(parameters.dtype(), parameters.shape()));
  }
  RETURN_IF_ERROR(fast(absl::MakeSpan(gradients), &sums));
  RETURN_IF_ERROR(ReferenceGradients(task, parameters, batch, absl::MakeSpan(reference), &reference_sums));
  for (int t = 0; t < num_terms; ++t) {
    if (sums.count[t] != reference_sums.count[t]) {
      return Disagree(absl::StrCat("the number of values in term \"", terms[t].name, "\""), sums.count[t],
                      reference_sums.count[t], 0, 0);
    }
    const std::string sum = absl::StrCat("the sum of term \"", terms[t].name, "\"");
    if (!std::isfinite(reference_sums.sum[t])) {
      return NotFinite(sum, sums.sum[t], reference_sums.sum[t], parameters.dtype());
    }
    // Values that are next to nothing in the model's own numbers, like forces in ideal crystals, are rounding.
    const double rounding = tolerance * tolerance * terms[t].natural_size * sums.count[t];
    if (std::abs(sums.sum[t]) <= rounding && std::abs(reference_sums.sum[t]) <= rounding) continue;
    const double relative = RelativeDifference(sums.sum[t], reference_sums.sum[t], std::abs(reference_sums.sum[t]));
    if (relative > tolerance) {
      return Disagree(sum, sums.sum[t], reference_sums.sum[t], relative, tolerance);
    }
    const GradientDifference worst = CompareGradients(task.parameter_slices(), gradients[t], reference[t]);
    if (worst.relative > tolerance) {
      const std::string derivative = absl::StrCat("d ", terms[t].name, " / d ", worst.location);
      if (!std::isfinite(worst.expected)) {
        return NotFinite(derivative, worst.actual, worst.expected, parameters.dtype());
      }
      return Disagree(derivative, worst.actual, worst.expected, worst.relative, tolerance);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckAgainstReference(Task& task, const Tensor& parameters, const NamedTensors& batch, double tolerance) {
  const AddGradients fast = [&](absl::Span<Tensor> gradients, TermSums* sums) {
    return task.AccumulateGradients(parameters, batch, gradients, sums);
  };
  return CheckAgainstReference(task, fast, parameters, batch, tolerance);
}

double ReferenceTolerance(DType parameter_dtype) { return parameter_dtype == DType::kF32 ? 5e-5 : 1e-10; }

}  // namespace rutile
