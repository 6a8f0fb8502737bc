// Which losses influence is of, for knowledge-graph embeddings.

#ifndef RUTILE_LIB_KGE_INFLUENCE_KGE_INFLUENCE_OPTIONS_H_
#define RUTILE_LIB_KGE_INFLUENCE_KGE_INFLUENCE_OPTIONS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/kge/model/kge_options.h"
#include "lib/task/projection_options.h"

namespace rutile {

// The loss of an example, which is a triple (h, r, t) with score s(t) = <v(h, r), e_t> + b_t. All in evaluation mode;
// labels are smoothed as KgeOptions says (form and eps), but for kTriple.
//
//   kTriple        softplus(-s(t)): the triple is true, and nothing is said of other tails (TiePin's; the default)
//   kOneToN        binary cross-entropy with logits, mean over all entities. True are the training tails of (h, r)
//                  that are known; of a key that has none, t alone. So t itself counts only where it is one of them, or
//                  the key has none, and training triples of one key have the same gradient.
//   kOneOfN        the same, but t alone is true (what TiePin trains)
//   kCrossEntropy  cross-entropy of a softmax over entities, t alone is true (LibKGE's 1vsAll)
//   kKvsAll        the same with the true tails of kOneToN, labels divided by their sum
enum class KgeInfluenceLoss { kTriple, kOneToN, kOneOfN, kCrossEntropy, kKvsAll };

// What is differentiated for a test triple: its loss, or the score (logit) that the model predicts for it.
enum class KgeQuantity { kLoss, kScore };

struct KgeInfluenceOptions {
  KgeInfluenceLoss loss = KgeInfluenceLoss::kTriple;
  KgeQuantity quantity = KgeQuantity::kLoss;
  // kOneToN, kKvsAll: the tail of a test triple is true, too, beside the known ones.
  bool label_test_tails = false;
  // Factors of products of pairs (of fc's factors, of hidden vectors, of errors over entities), of scores, and of fc's
  // backward product are rounded to bfloat16; with AMX those of the convolution's backward pass, too. The forward pass
  // and products of the small tensors stay in fp32, or with AMX have errors of 2^-16: it decides where a relu is 0,
  // which moves gradients far more than rounding does, and a few of their numbers may be nearly all of a gradient.
  // Matching embedding rows stay in fp32.
  bool bf16 = false;
  // Of the long factors of gradients, in products of pairs: ConvE's maps, which fc multiplies, and errors over
  // entities. All that is beside them stays exact, embedding rows, fc's other factor, conv and norms: for fc's weights
  // this is a projection 1 (x) R, the Kronecker form of LoGra (S. Choe et al., arXiv 2405.13954 (2024)) with nothing
  // done to the short side. Not for weighted tests, whose sum is no product, nor for squares of gradients: they are
  // exact.
  ProjectionOptions projection;
};

absl::string_view KgeInfluenceLossName(KgeInfluenceLoss loss);  // "triple", "1-N", "1-of-N", "1vsAll", "KvsAll"
absl::string_view KgeQuantityName(KgeQuantity quantity);        // "loss", "score"
// The reverse; whatever ParseKgeLoss takes is the loss that was trained by that name.
absl::StatusOr<KgeInfluenceLoss> ParseKgeInfluenceLoss(absl::string_view name);
absl::StatusOr<KgeQuantity> ParseKgeQuantity(absl::string_view name);

// The loss that a model was trained with, as influence knows it.
KgeInfluenceLoss TrainedInfluenceLoss(KgeLoss loss);

// Whether scores of all entities count, not that of t alone.
inline bool IsOverEntities(KgeInfluenceLoss loss) { return loss != KgeInfluenceLoss::kTriple; }
// Whether known tails of the key decide the labels.
inline bool NeedsKnownTails(KgeInfluenceLoss loss) {
  return loss == KgeInfluenceLoss::kOneToN || loss == KgeInfluenceLoss::kKvsAll;
}

// Whether there are products that bf16 rounds: of DistMult and ComplEx under kTriple a gradient is a few embedding
// rows, which stay in fp32.
inline bool HasRoundedProducts(KgeModel model, KgeInfluenceLoss loss) {
  return model == KgeModel::kConvE || IsOverEntities(loss);
}

// INVALID_ARGUMENT: option, value and what would fit (bf16 is of fp32 and without a projection; label_test_tails is of
// losses of known tails, and of the loss as the quantity).
absl::Status CheckKgeInfluenceOptions(const KgeInfluenceOptions& options, DType precision);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_INFLUENCE_KGE_INFLUENCE_OPTIONS_H_
