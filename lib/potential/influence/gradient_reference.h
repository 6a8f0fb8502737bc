// Computes the gradient of one structure or atom by the definition, with LibTorch's autograd through the networks,
// twice if forces or stress count. GradientRows must agree with it.

#ifndef RUTILE_LIB_POTENTIAL_INFLUENCE_GRADIENT_REFERENCE_H_
#define RUTILE_LIB_POTENTIAL_INFLUENCE_GRADIENT_REFERENCE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/influence/gradient_example.h"
#include "lib/potential/model/potential_file.h"
#include "lib/potential/model/task_options.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Implements GradientReference, in fp64 throughout. Errors of GradientRows::Compute.
absl::Status ReferenceExampleGradient(const Potential& potential, const LossOptions& loss, const TermWeights& weights,
                                      const AtomicData& data, const GradientExample& example,
                                      absl::Span<double> gradient);

// Returns a batch of one structure in the form of force_reference.h. geometry: with the structure's neighbors;
// otherwise with the features of the data.
absl::StatusOr<NamedTensors> ReferenceBatch(const Potential& potential, const AtomicData& data, int64_t structure,
                                            bool geometry);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_INFLUENCE_GRADIENT_REFERENCE_H_
