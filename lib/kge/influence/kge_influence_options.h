// Options of influence for knowledge-graph embeddings: the loss that is differentiated, rounding and projection.

#ifndef RUTILE_LIB_KGE_INFLUENCE_KGE_INFLUENCE_OPTIONS_H_
#define RUTILE_LIB_KGE_INFLUENCE_KGE_INFLUENCE_OPTIONS_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/kge/influence/kge_curvature_options.h"
#include "lib/kge/model/kge_options.h"
#include "lib/kge/model/loose_names.h"
#include "lib/task/projection_options.h"

namespace rutile {

// The loss of an example, which is a triple (h, r, t) with score s(t) = <v(h, r), e_t> + b_t. All losses are in
// evaluation mode. Labels are smoothed as KgeOptions says (form and eps), except for kTriple.
//
//   kTriple        softplus(-s(t)): the triple is true, other tails are ignored (TiePin's; the default)
//   kOneToN        binary cross-entropy with logits, mean over all entities. The known training tails of (h, r) are
//                  true; if it has none, t alone is. So t itself counts only if it is one of them or there is none, and
//                  training triples of one key have the same gradient.
//   kOneOfN        as kOneToN, but t alone is true (what TiePin trains)
//   kCrossEntropy  cross-entropy of a softmax over entities, t alone is true (LibKGE's 1vsAll)
//   kKvsAll        as kCrossEntropy with the true tails of kOneToN, labels divided by their sum
enum class KgeInfluenceLoss { kTriple, kOneToN, kOneOfN, kCrossEntropy, kKvsAll };

// A loss that a model can be trained with has the names that it has in training (kKgeLossNames).
inline constexpr absl::string_view kKgeInfluenceLossWords[] = {"triple", "1-N", "1-of-N", "1vsAll", "KvsAll"};
inline constexpr LooseEnumNames<KgeInfluenceLoss> kKgeInfluenceLossNames("no loss of influence", kKgeInfluenceLossWords,
                                                                         "ce", KgeInfluenceLoss::kCrossEntropy);

// What is differentiated for a test triple (h, r, t):
//
//   kLoss        its loss
//   kScore       its score (logit) s(t)
//   kMargin      s(t) - log sum exp s(e) over all other entities e but known training tails of (h, r): log p / (1 - p)
//   of
//                a softmax over t and these
//   kDifference  s(t) - s(rival)
enum class KgeQuantity { kLoss, kScore, kMargin, kDifference };

inline constexpr absl::string_view kKgeQuantityWords[] = {"loss", "score", "margin", "difference"};
inline constexpr LooseEnumNames<KgeQuantity> kKgeQuantityNames("no quantity of a test triple", kKgeQuantityWords);

// Which gradients are multiplied, and how exactly.
struct KgeInfluenceOptions {
  KgeInfluenceLoss loss = KgeInfluenceLoss::kTriple;
  KgeQuantity quantity = KgeQuantity::kLoss;
  int32_t rival = -1;  // the entity of kDifference
  // For kOneToN and kKvsAll: the gradient of a training triple is that of its key's loss minus that of the loss without
  // its tail among the true ones; of the only true tail it is all of the key's. Else all triples of a key have its
  // gradient.
  bool by_triple = false;
  // The gradient of a training triple has what the run's regularizer adds to its loss (penalty_factors.h), and so has
  // the curvature; that of a test has not, since only the loss of training does. For kOneOfN and kCrossEntropy, and the
  // regularizers of HasRowPenalty.
  bool penalized = false;
  // For kOneToN and kKvsAll: the tail of a test triple is true in addition to the known ones.
  bool label_test_tails = false;
  // Rounds factors to bfloat16 in products of pairs (of fc's factors, of hidden vectors, of errors over entities), in
  // products of scores, and in fc's backward product; with AMX in the convolution's backward pass, too. The forward
  // pass stays in fp32 (with AMX, errors of 2^-16), since it decides where a relu is 0, which changes gradients far
  // more than rounding does. So do products of the small tensors, since a few of their numbers may be nearly all of a
  // gradient, and matching embedding rows.
  bool bf16 = false;
  // Projects the long factors of gradients in products of pairs: ConvE's maps, which fc multiplies, and errors over
  // entities. All other factors stay exact: embedding rows, fc's other factor, conv and norms. For fc's weights this is
  // a projection 1 (x) R, the Kronecker form of LoGra (S. Choe et al., arXiv 2405.13954 (2024)) without projecting the
  // short side. Weighted tests, whose sum is no product, and squares of gradients are not projected.
  ProjectionOptions projection;
  // Multiplies gradients by the inverse of the curvature of the loss, which should be the run's (kge_curvature.h).
  std::optional<KgeCurvatureOptions> curvature;
};

// Returns the influence loss that equals a training loss.
KgeInfluenceLoss TrainedInfluenceLoss(KgeLoss loss);

// True if the loss depends on the scores of all entities, not only on that of t.
inline bool IsOverEntities(KgeInfluenceLoss loss) { return loss != KgeInfluenceLoss::kTriple; }
// True if labels depend on the known tails of the key.
inline bool NeedsKnownTails(KgeInfluenceLoss loss) {
  return loss == KgeInfluenceLoss::kOneToN || loss == KgeInfluenceLoss::kKvsAll;
}

// True for a regularizer of single rows: n3, l3 and f2.
inline bool HasRowPenalty(const KgeOptions& options) {
  return options.regularizer != KgeRegularizer::kNone && options.regularizer != KgeRegularizer::kDura;
}

// True if the gradient of a test triple by this quantity has errors at many entities.
inline bool IsOverEntities(KgeInfluenceLoss loss, KgeQuantity quantity) {
  return quantity == KgeQuantity::kLoss ? IsOverEntities(loss) : quantity != KgeQuantity::kScore;
}

// True if bf16 rounds any product. For DistMult and ComplEx with kTriple it does not: a gradient is a few embedding
// rows, which stay in fp32.
inline bool HasRoundedProducts(KgeModel model, KgeInfluenceLoss loss) {
  return model == KgeModel::kConvE || model == KgeModel::kTucker || IsOverEntities(loss);
}

// Returns INVALID_ARGUMENT for a model whose gradients have no factors here: those whose scores are distances.
absl::Status CheckInfluenceModel(KgeModel model);

// Returns INVALID_ARGUMENT naming option, value and what would fit (bf16 needs fp32 and no projection; label_test_tails
// needs a loss with known tails, and the loss as the quantity).
absl::Status CheckKgeInfluenceOptions(const KgeInfluenceOptions& options, DType precision);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_INFLUENCE_KGE_INFLUENCE_OPTIONS_H_
