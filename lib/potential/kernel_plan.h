// How an energy kernel goes about its work. Plans differ in speed and in rounding, and in nothing else.

#ifndef RUTILE_LIB_POTENTIAL_KERNEL_PLAN_H_
#define RUTILE_LIB_POTENTIAL_KERNEL_PLAN_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/potential/energy_blocks.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

struct KernelPlan {
  // Most atoms of a block, 1 to kBlockAtoms. Smaller blocks are more pieces of work for threads and need less cache;
  // larger ones add up gradients less often.
  int block_atoms = kBlockAtoms;
  GradientForm gradients = GradientForm::kByWidth;
};

inline bool operator==(const KernelPlan& a, const KernelPlan& b) {
  return a.block_atoms == b.block_atoms && a.gradients == b.gradients;
}

// "block_atoms=64 gradients=turned".
std::string KernelPlanText(const KernelPlan& plan);
// The reverse. INVALID_ARGUMENT for anything else.
absl::StatusOr<KernelPlan> ParseKernelPlan(absl::string_view text);

// The plan in a task's state, for runs that go on with the same bits. SetKernelPlanState appends to `state`;
// KernelPlanOfState: INVALID_ARGUMENT when it is missing or has no meaning.
void SetKernelPlanState(const KernelPlan& plan, NamedTensors* state);
absl::StatusOr<KernelPlan> KernelPlanOfState(const NamedTensors& state);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_KERNEL_PLAN_H_
