#include "lib/potential/kernel_plan.h"

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"

namespace rutile {
namespace {

constexpr char kStateName[] = "kernel_plan";

absl::string_view FormName(GradientForm form) {
  switch (form) {
    case GradientForm::kByWidth:
      return "by_width";
    case GradientForm::kLanes:
      return "lanes";
    case GradientForm::kTurned:
      return "turned";
  }
  return "";
}

}  // namespace

std::string KernelPlanText(const KernelPlan& plan) {
  return absl::StrCat("block_atoms=", plan.block_atoms, " gradients=", FormName(plan.gradients));
}

absl::StatusOr<KernelPlan> ParseKernelPlan(absl::string_view text) {
  KernelPlan plan;
  absl::string_view rest = text;
  const size_t space = rest.find(' ');
  if (absl::ConsumePrefix(&rest, "block_atoms=") && space != absl::string_view::npos &&
      absl::SimpleAtoi(text.substr(12, space - 12), &plan.block_atoms) && plan.block_atoms >= 1 &&
      plan.block_atoms <= kBlockAtoms) {
    for (const GradientForm form : {GradientForm::kByWidth, GradientForm::kLanes, GradientForm::kTurned}) {
      plan.gradients = form;
      if (KernelPlanText(plan) == text) return plan;
    }
  }
  return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is no plan of a kernel; expected block_atoms=1 .. ",
                                                 kBlockAtoms, " and gradients=by_width, lanes or turned"));
}

void SetKernelPlanState(const KernelPlan& plan, NamedTensors* state) {
  state->Set(kStateName, Tensor::Of<int64_t>({plan.block_atoms, static_cast<int64_t>(plan.gradients)}, {2}));
}

absl::StatusOr<KernelPlan> KernelPlanOfState(const NamedTensors& state) {
  const Tensor* found = state.Find(kStateName);
  if (found != nullptr && found->dtype() == DType::kI64 && found->num_elements() == 2) {
    const absl::Span<const int64_t> values = found->values<int64_t>();
    if (values[0] >= 1 && values[0] <= kBlockAtoms && values[1] >= 0 &&
        values[1] <= static_cast<int64_t>(GradientForm::kTurned)) {
      return KernelPlan{static_cast<int>(values[0]), static_cast<GradientForm>(values[1])};
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("tensor \"", kStateName, "\" is missing or is no plan of a kernel (I64, 2 elements)"));
}

}  // namespace rutile
