// Hidden vectors of a trained model for ranking and prediction, without LibTorch.
//
// With running statistics a norm is a linear function, which is folded into the weights before it: bn1 into conv, bn2
// into fc. Results do not depend on the number of threads, nor a query's vector on the other queries.

#ifndef RUTILE_LIB_KGE_TRAINING_MODEL_SCORER_H_
#define RUTILE_LIB_KGE_TRAINING_MODEL_SCORER_H_

#include "lib/kge/model/kge_shape.h"
#include "lib/ranking/kge_scorer.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Returns a scorer of the model. parameters: flat [shape.offsets().size], F32 or F64; shared, not copied. It agrees
// with kge_reference.h's hidden vectors up to rounding. It allocates a second fc weight [d, F], and at most 12 F
// numbers for each thread.
KgeScorer MakeScorer(const KgeShape& shape, const Tensor& parameters, int num_threads);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_TRAINING_MODEL_SCORER_H_
