#include "lib/kge/influence/kge_influence_options.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/kge/model/parse_choice.h"

namespace rutile {
absl::string_view KgeInfluenceLossName(KgeInfluenceLoss loss) {
  switch (loss) {
    case KgeInfluenceLoss::kTriple:
      return "triple";
    case KgeInfluenceLoss::kOneToN:
      return "1-N";
    case KgeInfluenceLoss::kOneOfN:
      return "1-of-N";
    case KgeInfluenceLoss::kCrossEntropy:
      return "1vsAll";
    case KgeInfluenceLoss::kKvsAll:
      return "KvsAll";
  }
  LOG(FATAL) << "no such loss: " << static_cast<int>(loss);
}

absl::string_view KgeQuantityName(KgeQuantity quantity) {
  switch (quantity) {
    case KgeQuantity::kLoss:
      return "loss";
    case KgeQuantity::kScore:
      return "score";
  }
  LOG(FATAL) << "no such quantity: " << static_cast<int>(quantity);
}

absl::StatusOr<KgeInfluenceLoss> ParseKgeInfluenceLoss(absl::string_view name) {
  if (const absl::StatusOr<KgeLoss> trained = ParseKgeLoss(name); trained.ok()) return TrainedInfluenceLoss(*trained);
  return ParseChoice<KgeInfluenceLoss>("loss of influence", name,
                                       {KgeInfluenceLoss::kTriple, KgeInfluenceLoss::kOneToN, KgeInfluenceLoss::kOneOfN,
                                        KgeInfluenceLoss::kCrossEntropy, KgeInfluenceLoss::kKvsAll},
                                       KgeInfluenceLossName);
}

absl::StatusOr<KgeQuantity> ParseKgeQuantity(absl::string_view name) {
  return ParseChoice<KgeQuantity>("quantity of a test triple", name, {KgeQuantity::kLoss, KgeQuantity::kScore},
                                  KgeQuantityName);
}

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
        absl::StrCat("label_test_tails = true has no effect: with loss ", KgeInfluenceLossName(options.loss),
                     " the tail of a test triple is true anyway; it is of the losses 1-N and KvsAll"));
  }
  if (options.label_test_tails && options.quantity != KgeQuantity::kLoss) {
    return absl::InvalidArgumentError(
        absl::StrCat("label_test_tails = true has no effect: the quantity of a test triple is its ",
                     KgeQuantityName(options.quantity), ", which has no labels"));
  }
  return absl::OkStatus();
}

}  // namespace rutile
