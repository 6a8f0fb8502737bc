// Exact products of gradients for knowledge-graph embeddings, computed without forming a gradient, for influence.
//
// In evaluation mode an example's gradient is a few outer products, so that products of two gradients are products of
// factors. With g = d l / d fc's result, a = fc's input, D = d l / d scores [N], v the hidden vector, dh, dr = d l / d
// embedding rows of head and relation, and q the gradients of all small tensors (norms, conv):
//
//   fc.weight        <g_i, g_j> <a_i, a_j>          fc.bias   <g_i, g_j>          small tensors  <q_i, q_j>
//   relation.weight  [r_i = r_j] <dr_i, dr_j>       entity.bias  <D_i, D_j>
//   entity.weight    <D_i, D_j> <v_i, v_j> + D_j[h_i] <dh_i, v_j> + D_i[h_j] <v_i, dh_j> + [h_i = h_j] <dh_i, dh_j>
//
// With KgeInfluenceOptions::penalized, dh_i and dr_i of training examples have the penalty of their rows, and that of
// the tail's, dt_i, adds D_j[t_i] <dt_i, v_j> + [t_i = h_j] <dt_i, dh_j>.
//
// A loss of one triple has D = 0 except at its tail, so that only pairs that share a head or a tail contribute. What
// depends on (h, r) alone is computed once for all training triples of a tile that share them. Models without
// layers have only the entity and relation rows; a relation's of RESCAL is the matrix e_h d_v^T. TuckER's core tensor
// is a layer like fc without a bias, whose input are the products of e_h and w_r, and whose g is dv. With a projection
// (KgeInfluenceOptions), <a_i, a_j> and <D_i, D_j> are products of projected a_i and D_i, and are right only on
// average. With a preconditioner or the curvature of the loss (kge_curvature.h) nothing factors: products are those
// with a direction of P numbers for each test, computed one test at a time, and cost about as much as 2 P
// multiplications for each key and test. So it is for a margin or a difference, and training losses of single tails.
//
//   const KgeInfluenceData data = {train, tests, /*known=*/nullptr};
//   ASSIGN_OR_RETURN(const std::unique_ptr<GradientProducts> products,
//                    MakeKgeProducts(shape, {parameters, {}, Tensor()}, data, KgeInfluenceOptions(), &pool));
//   RETURN_IF_ERROR(products->SetTests({0}));
//   ProductTile tile;
//   RETURN_IF_ERROR(products->Products(PreferredOrder(train), /*squares=*/false, &tile));
//   tile.product[0];  // <grad l(i), grad l'(0)> of the first training triple i in that order

#ifndef RUTILE_LIB_KGE_INFLUENCE_KGE_PRODUCTS_H_
#define RUTILE_LIB_KGE_INFLUENCE_KGE_PRODUCTS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/graph/known_tails.h"
#include "lib/graph/triple.h"
#include "lib/kge/influence/kge_influence_options.h"
#include "lib/kge/influence/kge_reference_example.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/machine/parallel_for.h"
#include "lib/task/gradient_products.h"

namespace rutile {

// The training and test triples. A training triple's loss is multiplied by its weight, as in training; that of a
// known-false triple is -log(1 - p), p the probability that the loss gives it, softmax or sigmoid
// (lib/kge/training/scores/query_weights.h). Relations are 0 .. shape.num_relations - 1: a model with inverse relations
// has R + r, and (t, R + r, h) is an example of its own, which the caller may include.
struct KgeInfluenceData {
  absl::Span<const Triple> train, tests;
  const KnownTails* known = nullptr;            // known tails of the training triples, for losses with NeedsKnownTails
  absl::Span<const double> weights = {};        // of `train`; empty: all 1
  absl::Span<const uint8_t> is_false = {};      // of `train`, 1 for known-false triples; empty: none is
  absl::Span<const double> known_weights = {};  // of known->all_tails(); empty: all 1
};

// Returns the order in which training triples should be processed, by (head, relation), so that tiles share most: a
// permutation of 0 .. train.size() - 1.
std::vector<int64_t> PreferredOrder(absl::Span<const Triple> train);

// Makes the products of one checkpoint. Those of kTriple in fp32 and fp64 have the same bits in any tile and with any
// number of threads; those of other losses, of bf16 and of directions (preconditioner, weighted tests) depend on tiles
// by rounding.
//
// shape.options give the model and the smoothing of labels; its loss and precision are ignored. point.parameters: in
// the order of shape.Slices(); F32 or F64, in which all is computed. The loss weight multiplies the loss of training
// triples, and of tests if the quantity is the loss. data and pool (null: one thread) must outlive the result;
// parameters are shared, not copied. reference: called by ReferenceTrainGradient and ReferenceTestGradient; if it is
// null, they are UNIMPLEMENTED.
//
// INVALID_ARGUMENT: errors of CheckKgeInfluenceOptions; tensors of another size or type; a loss weight that is negative
// or not one number; a triple whose ids are out of range; missing known tails; a projection together with a
// preconditioner, or to more numbers than there are; weights that are not as many as what they are of.
absl::StatusOr<std::unique_ptr<GradientProducts>> MakeKgeProducts(const KgeShape& shape,
                                                                  const WeightedCheckpoint& point,
                                                                  const KgeInfluenceData& data,
                                                                  const KgeInfluenceOptions& options, ThreadPool* pool,
                                                                  KgeReference reference = nullptr);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_INFLUENCE_KGE_PRODUCTS_H_
