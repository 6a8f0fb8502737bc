// What a reference of gradients is asked for: products need no LibTorch, and are given the reference that does.

#ifndef RUTILE_LIB_KGE_INFLUENCE_KGE_REFERENCE_EXAMPLE_H_
#define RUTILE_LIB_KGE_INFLUENCE_KGE_REFERENCE_EXAMPLE_H_

#include <cstdint>

#include "absl/types/span.h"
#include "lib/graph/triple.h"
#include "lib/kge/influence/kge_influence_options.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

struct KgeReferenceExample {
  Triple triple;
  absl::Span<const int32_t> positive;  // true tails, ascending; losses over entities alone
  bool score = false;                  // the score's gradient, not the loss's
};

// The gradient of one triple's loss, by definition. gradient: [P], overwritten.
using KgeReference = void (*)(const KgeShape& shape, const Tensor& parameters, const KgeReferenceExample& example,
                              KgeInfluenceLoss loss, absl::Span<double> gradient);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_INFLUENCE_KGE_REFERENCE_EXAMPLE_H_
