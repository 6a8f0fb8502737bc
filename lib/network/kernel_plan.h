// The execution plan of a NetworkKernel. Plans differ in speed and in rounding, and in nothing else.

#ifndef RUTILE_LIB_NETWORK_KERNEL_PLAN_H_
#define RUTILE_LIB_NETWORK_KERNEL_PLAN_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/network/kernels/network_fused.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// kFused runs all layers for a few atoms at a time (network_fused.h). kGemm runs one layer after the other for many
// atoms as matrix products (network_gemm.h). kAuto chooses by the widths of the hidden layers, the type and the machine
// (network_kernel.h).
enum class NetworkAlgorithm { kAuto, kFused, kGemm };

// The largest block of kGemm: the activations of such a block and the weights of a layer share the second-level cache.
inline constexpr int kMostWideAtoms = 512;

struct KernelPlan {
  // The most atoms in a block: 1 to kBlockAtoms, or to kMostWideAtoms with algorithm = kGemm. Smaller blocks give
  // threads more pieces of work and need less cache; larger ones add up gradients less often. Ignored where kAuto
  // chooses kGemm.
  int block_atoms = kBlockAtoms;
  GradientForm gradients = GradientForm::kAuto;  // used by kFused only
  NetworkAlgorithm algorithm = NetworkAlgorithm::kAuto;
};

inline bool operator==(const KernelPlan& a, const KernelPlan& b) {
  return a.block_atoms == b.block_atoms && a.gradients == b.gradients && a.algorithm == b.algorithm;
}

// True if block_atoms is within the limits of the plan's algorithm.
bool IsValid(const KernelPlan& plan);

// Writes the plan as "block_atoms=64 gradients=transposed", followed by " algorithm=gemm" (kGemm) or " algorithm=fused"
// (kFused) unless the algorithm is kAuto.
std::string KernelPlanText(const KernelPlan& plan);
// Parses the text that KernelPlanText writes. INVALID_ARGUMENT for any other text.
absl::StatusOr<KernelPlan> ParseKernelPlan(absl::string_view text);

// Stores a plan in a task's state and reads it back, so that a resumed run computes the same bits. SetKernelPlanState
// appends to `state`. KernelPlanOfState returns INVALID_ARGUMENT if the plan is missing or not valid; it also reads
// states that were written before plans had an algorithm.
void SetKernelPlanState(const KernelPlan& plan, NamedTensors* state);
absl::StatusOr<KernelPlan> KernelPlanOfState(const NamedTensors& state);

}  // namespace rutile

#endif  // RUTILE_LIB_NETWORK_KERNEL_PLAN_H_
