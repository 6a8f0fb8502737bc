// What a regularizer of embeddings adds to the gradients and to the curvature of training examples.
//
// Training with --regularizer=n3, l3 or f2 adds lambda (phi(e_h) + phi(w_r) + phi(e_t)) to the loss of each triple
// (lib/kge/training/scores/embedding_penalty.h), which leaving the triple out takes away, too. So the gradient of a
// training example has, beside that of its loss,
//
//   lambda w phi'(e_h) at the head's row,  lambda w phi'(w_r) at the relation's,  lambda w phi'(e_t) at the tail's,
//
// where w is the triple's weight, and the Hessian of the whole loss has the sum over examples of lambda phi'' in the
// blocks of these rows. phi = sum_k |x_k|^p has, for p = 3 and numbers x = (re, im) with the modulus m,
// phi' = 3 m x and phi'' = 3 m I + 3 x x^T / m, which is 0 at 0.

#ifndef RUTILE_LIB_KGE_INFLUENCE_PENALTY_FACTORS_H_
#define RUTILE_LIB_KGE_INFLUENCE_PENALTY_FACTORS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "lib/kge/influence/gradient_factors.h"
#include "lib/kge/model/kge_options.h"
#include "lib/kge/model/kge_shape.h"

namespace rutile {

// Adds the penalties of the examples, times loss_scale, to factors->d_head and d_relation, and makes d_tail of them.
// parameters: flat [P]. Does nothing where the factors have no rows of embeddings. CHECK-fails unless
// HasRowPenalty(shape.options).
template <typename T>
void AddPenaltyFactors(const KgeShape& shape, const T* parameters, const KgeFactorInput& input, double loss_scale,
                       GradientFactors<T>* factors);

// Adds weight phi''(x) to the lower triangle of a matrix whose rows are `stride` numbers apart. x: [n]; with moduli its
// second half are the imaginary parts.
void AddPenaltyCurvature(const KgeOptions& options, double weight, absl::Span<const double> x, int64_t stride,
                         double* matrix);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_INFLUENCE_PENALTY_FACTORS_H_
