// The definition of influence, in plain loops over dense gradients from one backward pass each. Tests and benchmarks
// call it.

#ifndef RUTILE_LIB_INFLUENCE_TRACIN_REFERENCE_H_
#define RUTILE_LIB_INFLUENCE_TRACIN_REFERENCE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/influence/tracin.h"
#include "lib/influence/tracin_options.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// What ComputeInfluence computes, from ReferenceTrainGradient and ReferenceTestGradient, all scores in a matrix and
// sorted. preconditioners: empty, or one for each checkpoint as in WeightedCheckpoint (a tensor without elements: 1).
// Memory: the gradients of all examples, P numbers each.
absl::StatusOr<Influence> ComputeInfluenceReference(const InfluenceInputs& inputs, const TracInOptions& options,
                                                    absl::Span<const Tensor> preconditioners = {});

}  // namespace rutile

#endif  // RUTILE_LIB_INFLUENCE_TRACIN_REFERENCE_H_
