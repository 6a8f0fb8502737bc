// Defines influence in plain loops over dense gradients from one backward pass each; for tests and benchmarks.

#ifndef RUTILE_LIB_INFLUENCE_TRACIN_REFERENCE_H_
#define RUTILE_LIB_INFLUENCE_TRACIN_REFERENCE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/influence/tracin.h"
#include "lib/influence/tracin_options.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Computes what ComputeInfluence computes, from ReferenceTrainGradient and ReferenceTestGradient, with all scores in a
// sorted matrix. preconditioners: empty, or one for each checkpoint as in WeightedCheckpoint (a tensor without elements
// means 1). It takes memory for the gradients of all examples, P numbers each.
absl::StatusOr<Influence> ComputeInfluenceReference(const InfluenceInputs& inputs, const TracInOptions& options,
                                                    absl::Span<const Tensor> preconditioners = {});

}  // namespace rutile

#endif  // RUTILE_LIB_INFLUENCE_TRACIN_REFERENCE_H_
