// The example and signature of a reference of gradients. Products need no LibTorch; they are given the reference, which
// does.

#ifndef RUTILE_LIB_KGE_INFLUENCE_KGE_REFERENCE_EXAMPLE_H_
#define RUTILE_LIB_KGE_INFLUENCE_KGE_REFERENCE_EXAMPLE_H_

#include <cstdint>

#include "absl/types/span.h"
#include "lib/graph/triple.h"
#include "lib/kge/influence/kge_influence_options.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// One example whose gradient a reference computes.
struct KgeReferenceExample {
  Triple triple;
  absl::Span<const int32_t> positive;  // true tails, ascending; for losses over entities and margins
  // What is differentiated. Of a margin, the true tails do not count.
  KgeQuantity quantity = KgeQuantity::kLoss;
  int32_t rival = -1;                             // of a difference
  absl::Span<const double> positive_weight = {};  // of `positive`; empty: all 1
  double weight = 1;                              // of the triple, for kTriple
  bool penalized = false;  // with what the regularizer of the shape adds; for losses over entities
  bool is_false = false;   // the triple is known to be false, and alone in `positive`
};

// Computes the gradient of one triple's loss by definition. Overwrites gradient [P].
using KgeReference = void (*)(const KgeShape& shape, const Tensor& parameters, const KgeReferenceExample& example,
                              KgeInfluenceLoss loss, absl::Span<double> gradient);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_INFLUENCE_KGE_REFERENCE_EXAMPLE_H_
