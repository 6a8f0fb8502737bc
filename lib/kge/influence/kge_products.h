// Exact products of gradients for knowledge-graph embeddings, without a gradient: what influence is made of.
//
// In evaluation mode an example's gradient is a few outer products, so that products of two gradients are products of
// factors. With g = d l / d fc's result, a = fc's input, D = d l / d scores [N], v the hidden vector, dh, dr = d l /
// d embedding rows of head and relation, and q the gradients of all small tensors (norms, conv):
//
//   fc.weight        <g_i, g_j> <a_i, a_j>          fc.bias   <g_i, g_j>          small tensors  <q_i, q_j>
//   relation.weight  [r_i = r_j] <dr_i, dr_j>       entity.bias  <D_i, D_j>
//   entity.weight    <D_i, D_j> <v_i, v_j> + D_j[h_i] <dh_i, v_j> + D_i[h_j] <v_i, dh_j> + [h_i = h_j] <dh_i, dh_j>
//
// A loss of one triple has D = 0 but at its tail, and then only pairs that share a head or a tail count. Whatever
// depends on (h, r) alone is computed once for all training triples of a tile that share them. DistMult and ComplEx
// have the entity and relation rows only. With a projection (KgeInfluenceOptions) a_i and D_i are made short first, in
// <a_i, a_j> and <D_i, D_j>, and products are right on average only. With a preconditioner nothing factors: products
// are those of directions of P numbers, made for one held test at a time, and cost about what 2 P multiplications for
// each key and test do.

#ifndef RUTILE_LIB_KGE_INFLUENCE_KGE_PRODUCTS_H_
#define RUTILE_LIB_KGE_INFLUENCE_KGE_PRODUCTS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/base/parallel_for.h"
#include "lib/graph/known_tails.h"
#include "lib/graph/triple.h"
#include "lib/kge/influence/kge_influence_options.h"
#include "lib/kge/influence/kge_reference_example.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/task/gradient_products.h"

namespace rutile {

// Relations are 0 .. shape.num_relations - 1: a model with inverse relations has R + r, and (t, R + r, h) is an example
// of its own, which the caller gives or does not give.
struct KgeInfluenceData {
  absl::Span<const Triple> train, tests;
  const KnownTails* known = nullptr;  // of the training triples; only some losses need it (NeedsKnownTails)
};

// The order in which training triples should be streamed: by (head, relation), so that tiles share most. A permutation
// of 0 .. train.size() - 1.
std::vector<int64_t> PreferredOrder(absl::Span<const Triple> train);

// Products of kTriple in fp32 and fp64 have the same bits in any tile and with any number of threads; those of the
// other losses, of bf16 and of directions (preconditioner, weighted tests) in another tile but for rounding.
//
// shape.options give the model and the smoothing of labels; its loss and precision do not matter. point.parameters: in
// the order of shape.Slices(); F32 or F64, in which all is computed. A loss weight
// is of the one loss, and of tests where the quantity is the loss. data and pool (null: one thread) must outlive the
// result; parameters are shared, not copied. reference: what ReferenceTrainGradient and ReferenceTestGradient ask;
// null: they are UNIMPLEMENTED.
//
// INVALID_ARGUMENT: CheckKgeInfluenceOptions; tensors of another size or type; a loss weight that is negative or not of
// one loss; a triple whose ids are out of range; no known tails where they are needed; a projection with a
// preconditioner, or to more numbers than there are.
absl::StatusOr<std::unique_ptr<GradientProducts>> MakeKgeProducts(const KgeShape& shape,
                                                                  const WeightedCheckpoint& point,
                                                                  const KgeInfluenceData& data,
                                                                  const KgeInfluenceOptions& options, ThreadPool* pool,
                                                                  KgeReference reference = nullptr);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_INFLUENCE_KGE_PRODUCTS_H_
