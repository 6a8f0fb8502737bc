// How an energy kernel goes about its work. Plans differ in speed and in rounding, and in nothing else.

#ifndef RUTILE_LIB_NETWORK_KERNEL_PLAN_H_
#define RUTILE_LIB_NETWORK_KERNEL_PLAN_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/network/network_fused.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Blocks: all layers for a few atoms at a time (energy_blocks.h). Matrices: one layer after the other for many atoms
// (wide_network.h). By width: what suits the hidden layers, the type and the machine (energy_kernel.h).
enum class NetworkAlgorithm { kAuto, kFused, kGemm };

// Of matrices: activations of a block and the weights of a layer share the second cache.
inline constexpr int kMostWideAtoms = 512;

struct KernelPlan {
  // Most atoms of a block, 1 to kBlockAtoms, of matrices to kMostWideAtoms. Smaller blocks are more pieces of work for
  // threads and need less cache; larger ones add up gradients less often. Not for matrices that are chosen by width.
  int block_atoms = kBlockAtoms;
  GradientForm gradients = GradientForm::kAuto;  // of blocks
  NetworkAlgorithm form = NetworkAlgorithm::kAuto;
};

inline bool operator==(const KernelPlan& a, const KernelPlan& b) {
  return a.block_atoms == b.block_atoms && a.gradients == b.gradients && a.form == b.form;
}

// Whether it has a meaning.
bool IsValid(const KernelPlan& plan);

// "block_atoms=64 gradients=turned", and " form=matrices" or " form=blocks" where it is not by width.
std::string KernelPlanText(const KernelPlan& plan);
// The reverse. INVALID_ARGUMENT for anything else.
absl::StatusOr<KernelPlan> ParseKernelPlan(absl::string_view text);

// The plan in a task's state, for runs that go on with the same bits. SetKernelPlanState appends to `state`;
// KernelPlanOfState: INVALID_ARGUMENT when it is missing or has no meaning. States of before there were forms are read.
void SetKernelPlanState(const KernelPlan& plan, NamedTensors* state);
absl::StatusOr<KernelPlan> KernelPlanOfState(const NamedTensors& state);

}  // namespace rutile

#endif  // RUTILE_LIB_NETWORK_KERNEL_PLAN_H_
