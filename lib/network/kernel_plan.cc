#include "lib/network/kernel_plan.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"

namespace rutile {
namespace {

constexpr char kStateName[] = "kernel_plan";

absl::string_view GradientFormName(GradientForm form) {
  switch (form) {
    case GradientForm::kAuto:
      return "by_width";
    case GradientForm::kLanes:
      return "lanes";
    case GradientForm::kTransposed:
      return "transposed";
  }
  return "";
}

absl::string_view AlgorithmText(NetworkAlgorithm algorithm) {
  switch (algorithm) {
    case NetworkAlgorithm::kAuto:
      return "";
    case NetworkAlgorithm::kFused:
      return " algorithm=fused";
    case NetworkAlgorithm::kGemm:
      return " algorithm=gemm";
  }
  return "";
}

}  // namespace

bool IsValid(const KernelPlan& plan) {
  const auto is_of = [](auto value, auto last) { return static_cast<int>(value) >= 0 && value <= last; };
  return is_of(plan.gradients, GradientForm::kTransposed) && is_of(plan.algorithm, NetworkAlgorithm::kGemm) &&
         plan.block_atoms >= 1 &&
         plan.block_atoms <= (plan.algorithm == NetworkAlgorithm::kGemm ? kMostWideAtoms : kBlockAtoms);
}

std::string KernelPlanText(const KernelPlan& plan) {
  return absl::StrCat("block_atoms=", plan.block_atoms, " gradients=", GradientFormName(plan.gradients),
                      AlgorithmText(plan.algorithm));
}

absl::StatusOr<KernelPlan> ParseKernelPlan(absl::string_view given) {
  // Plan caches and run records of versions up to 0.1 use other words.
  const std::string text = absl::StrReplaceAll(
      given, {{"=turned", "=transposed"}, {"form=blocks", "algorithm=fused"}, {"form=matrices", "algorithm=gemm"}});
  KernelPlan plan;
  absl::string_view rest = text;
  const size_t space = rest.find(' ');
  if (absl::ConsumePrefix(&rest, "block_atoms=") && space != absl::string_view::npos &&
      absl::SimpleAtoi(absl::string_view(text).substr(12, space - 12), &plan.block_atoms)) {
    for (const GradientForm gradients : {GradientForm::kAuto, GradientForm::kLanes, GradientForm::kTransposed}) {
      for (const NetworkAlgorithm algorithm :
           {NetworkAlgorithm::kAuto, NetworkAlgorithm::kFused, NetworkAlgorithm::kGemm}) {
        plan.gradients = gradients;
        plan.algorithm = algorithm;
        if (IsValid(plan) && KernelPlanText(plan) == text) return plan;
      }
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", given, "\" is no plan of a kernel; expected block_atoms=1 .. ", kBlockAtoms,
      " and gradients=by_width, lanes or transposed, then algorithm=fused, algorithm=gemm (block_atoms=1 .. ",
      kMostWideAtoms, ") or nothing"));
}

void SetKernelPlanState(const KernelPlan& plan, NamedTensors* state) {
  state->Set(kStateName,
             Tensor::Of<int64_t>(
                 {plan.block_atoms, static_cast<int64_t>(plan.gradients), static_cast<int64_t>(plan.algorithm)}, {3}));
}

absl::StatusOr<KernelPlan> KernelPlanOfState(const NamedTensors& state) {
  const Tensor* found = state.Find(kStateName);
  if (found != nullptr && found->dtype() == DType::kI64 && (found->num_elements() == 2 || found->num_elements() == 3)) {
    const absl::Span<const int64_t> values = found->values<int64_t>();
    const bool small =
        std::all_of(values.begin(), values.end(), [](int64_t v) { return v >= 0 && v <= kMostWideAtoms; });
    // Plans that were written before there were algorithms ran all calls as kFused.
    const int64_t algorithm = values.size() == 3 ? values[2] : static_cast<int64_t>(NetworkAlgorithm::kFused);
    const KernelPlan plan = {static_cast<int>(values[0]), static_cast<GradientForm>(values[1]),
                             static_cast<NetworkAlgorithm>(algorithm)};
    if (small && IsValid(plan)) return plan;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("tensor \"", kStateName, "\" is missing or is no plan of a kernel (I64, 2 or 3 elements)"));
}

}  // namespace rutile
