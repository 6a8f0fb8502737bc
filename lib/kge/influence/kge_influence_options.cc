#include "lib/kge/influence/kge_influence_options.h"

#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"

namespace rutile {

KgeInfluenceLoss TrainedInfluenceLoss(KgeLoss loss) {
  switch (loss) {
    case KgeLoss::kOneToN:
      return KgeInfluenceLoss::kOneToN;
    case KgeLoss::kOneOfN:
      return KgeInfluenceLoss::kOneOfN;
    case KgeLoss::kOneVsAll:
      return KgeInfluenceLoss::kCrossEntropy;
    case KgeLoss::kKvsAll:
      return KgeInfluenceLoss::kKvsAll;
  }
  LOG(FATAL) << "no such loss: " << static_cast<int>(loss);
}

absl::Status CheckInfluenceModel(KgeModel model) {
  if (!IsDistanceModel(model)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("influence is computed of models whose scores are products of vectors, and those of ",
                   kKgeModelNames.Name(model), " are distances: train another model, such as complex"));
}

absl::Status CheckKgeInfluenceOptions(const KgeInfluenceOptions& options, DType precision) {
  if (options.bf16 && precision != DType::kF32) {
    return absl::InvalidArgumentError(absl::StrCat("bf16 = true rounds factors of fp32 products, but parameters are ",
                                                   DTypeName(precision), "; give parameters of type F32"));
  }
  RETURN_IF_ERROR(CheckProjectionOptions(options.projection));
  if (options.bf16 && options.projection.kind != ProjectionKind::kNone) {
    return absl::InvalidArgumentError(
        "bf16 = true rounds factors of large products, which a projection makes small: choose one of them");
  }
  if (options.label_test_tails && !NeedsKnownTails(options.loss)) {
    return absl::InvalidArgumentError(
        absl::StrCat("label_test_tails = true has no effect: with loss ", kKgeInfluenceLossNames.Name(options.loss),
                     " the tail of a test triple is true anyway; it is of the losses 1-N and KvsAll"));
  }
  if (options.label_test_tails && options.quantity != KgeQuantity::kLoss) {
    return absl::InvalidArgumentError(
        absl::StrCat("label_test_tails = true has no effect: the quantity of a test triple is its ",
                     kKgeQuantityNames.Name(options.quantity), ", which has no labels"));
  }
  if (options.by_triple && !NeedsKnownTails(options.loss)) {
    return absl::InvalidArgumentError(
        absl::StrCat("by_triple = true has no effect: with loss ", kKgeInfluenceLossNames.Name(options.loss),
                     " each triple has a gradient of its own anyway; it is of the losses 1-N and KvsAll"));
  }
  if (options.penalized && (NeedsKnownTails(options.loss) || !IsOverEntities(options.loss))) {
    return absl::InvalidArgumentError(absl::StrCat("penalized = true with loss ",
                                                   kKgeInfluenceLossNames.Name(options.loss),
                                                   ": it is of 1-of-N and 1vsAll, where training adds a penalty to the "
                                                   "loss of each triple"));
  }
  if ((options.quantity == KgeQuantity::kDifference) != (options.rival >= 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the quantity of a test triple is its ", kKgeQuantityNames.Name(options.quantity),
                     ", and the rival is ", options.rival, "; expected both a difference and a rival, or neither"));
  }
  if (!options.curvature.has_value()) return absl::OkStatus();
  if (options.bf16 || options.projection.kind != ProjectionKind::kNone) {
    return absl::InvalidArgumentError(
        "with the curvature of the loss gradients have no factors that could be rounded or "
        "projected: choose one");
  }
  return absl::OkStatus();
}

}  // namespace rutile
