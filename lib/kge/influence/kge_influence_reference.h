// Defines the gradients that are multiplied: the gradient of one triple's loss, by LibTorch.

#ifndef RUTILE_LIB_KGE_INFLUENCE_KGE_INFLUENCE_REFERENCE_H_
#define RUTILE_LIB_KGE_INFLUENCE_KGE_INFLUENCE_REFERENCE_H_

#include "absl/types/span.h"
#include "lib/kge/influence/kge_influence_options.h"
#include "lib/kge/influence/kge_reference_example.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Computes such a gradient by one forward and one backward pass in evaluation mode, in the parameters' type; it is a
// KgeReference.
void ReferenceKgeGradient(const KgeShape& shape, const Tensor& parameters, const KgeReferenceExample& example,
                          KgeInfluenceLoss loss, absl::Span<double> gradient);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_INFLUENCE_KGE_INFLUENCE_REFERENCE_H_
